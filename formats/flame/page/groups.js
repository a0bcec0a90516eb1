// SPDX-License-Identifier: MIT
// Whose samples are shown (processes, threads, tasks), and which weight.

const GROUPS_LISTED = 1000;

function orderWeight() {
  return knownWeights().some((weight) => weight.name === 'cpu') ? 'cpu' : view.weight;
}

// Groups, the busiest first.
function groupsInOrder() {
  const by = orderWeight(), sums = profile.groups.map((group) => group.sums[by] || 0);
  return profile.groups.map((_, i) => i).sort((a, b) => sums[b] - sums[a] || a - b);
}

function groupsLabel() {
  const chosen = groupsChosen(), all = profile.groups.length, tasks = profile.groups.some((group) => group.task);
  const noun = tasks ? 'group' : 'thread';
  if (all === 1)
    return profile.groups[0].name;
  if (chosen.length === 1)
    return profile.groups[chosen[0]].name;
  return chosen.length === all ? 'All ' + count(all, noun) : chosen.length + ' of ' + count(all, noun);
}

function chooseGroups(wanted) {
  profile.groups.forEach((_, i) => { view.groups[i] = wanted(i) ? 1 : 0; });
  rebuild();
}

function groupRow(i, most) {
  const group = profile.groups[i], weight = weightNow(), sum = group.sums[weight.name] || 0;
  const box = make('input', { type: 'checkbox', 'data-group': i, onchange: () => {
    view.groups[i] = box.checked ? 1 : 0;
    rebuild();
  } });
  box.checked = view.groups[i] === 1;
  const busy = group.busy ? ' (' + group.busy + ')' : '';
  const threads = group.threads > 1 ? make('small', { title: group.name + busy }, ' ×' + group.threads + busy) : '';
  return make('li', {}, make('label', {}, box, make('span', { class: 'name', title: group.name }, group.name, threads),
    barOf(sum / most), make('span', { class: 'number' }, amount(sum, weight.unit))),
  make('button', { class: 'only', 'aria-label': 'Only ' + group.name, onclick: () => {
    chooseGroups((other) => other === i);
    syncGroups();
  } }, 'only'));
}

function syncGroups() {
  for (const box of byId('groups-list').querySelectorAll('input[data-group]'))
    box.checked = view.groups[Number(box.dataset.group)] === 1;
}

function fillGroups(drop) {
  const order = groupsInOrder(), weight = weightNow(), 
    most = order.reduce((top, i) => Math.max(top, profile.groups[i].sums[weight.name] || 0), 1);
  const list = make('ul', { class: 'rows' }), by = profile.weights.find((one) => one.name === orderWeight());
  const fill = (text) => {
    const found = order.filter((i) => profile.groups[i].name.toLowerCase().includes(text.toLowerCase()));
    list.replaceChildren(...found.slice(0, GROUPS_LISTED).map((i) => groupRow(i, most)),
      ...(found.length > GROUPS_LISTED ? [make('li', { class: 'note' }, (found.length - GROUPS_LISTED) + ' more; type a name above')] : []));
    return found;
  };
  let found = fill('');
  const apart = make('input', { type: 'checkbox', id: 'apart', onchange: () => { view.apart = apart.checked; rebuild(); } });
  apart.checked = view.apart;
  const each = (value) => { const of = new Set(found); chooseGroups((i) => of.has(i) ? value : view.groups[i]); syncGroups(); };
  const filter = make('input', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter threads',
    oninput: () => { found = fill(filter.value); } });
  drop.replaceChildren(make('div', { class: 'row' }, make('button', { onclick: () => each(true) }, 'All'),
    make('button', { onclick: () => each(false) }, 'None'), ...(order.length > 8 ? [filter] : [])),
  make('p', { class: 'note' }, weight.label + '; sorted by ' + by.label + '.'), list,
  make('label', { class: 'option' }, apart, ' A box for each of them'));
}

function chooseWeight(name) {
  view.weight = name;
  rebuild();
}

function fillWeights(drop) {
  const row = (weight) => {
    const input = make('input', { type: 'radio', name: 'weight', value: weight.name, disabled: !weight.known,
      onchange: () => chooseWeight(weight.name) });
    input.checked = weight.name === view.weight;
    const said = weight.known ? weight.note : weight.reason;
    return make('li', {}, make('label', { class: weight.known ? '' : 'off' }, input, make('span', { class: 'name' }, weight.label,
      ...(said ? [make('small', {}, said)] : [])),
    make('span', { class: 'number' }, weight.known ? amount(sumOfGroups(weight.name), weight.unit) : 'not known')));
  };
  drop.replaceChildren(make('ul', { class: 'rows' }, ...profile.weights.map(row)),
    make('p', { class: 'note' }, 'The widths of the boxes, and all times. Sums are of all threads.'));
}

// The next weight that is known.
function nextWeight() {
  const known = knownWeights().map((weight) => weight.name);
  chooseWeight(known[(known.indexOf(view.weight) + 1) % known.length]);
}
