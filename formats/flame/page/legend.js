// SPDX-License-Identifier: MIT
// The legend: a switch for each kind of code. Off means left out: code counts at its caller, and waiting is not counted at all.

// Self of each kind in everything that is chosen, whatever is left out.
function kindSums() {
  const { nodes, frames, functions } = profile, sums = new Float64Array(profile.kinds.length), own = nodes.self[view.weight];
  for (let i = 0; i < nodes.count; i++)
    if (view.groups[nodes.group[i]])
      sums[functions.kind[frames.function[nodes.frame[i]]]] += own[i];
  return sums;
}

// Kinds that functions have, in the order of the palette: yours first, the rest last.
function kindsThere() {
  const order = Object.keys(PALETTES.light), place = (kind) => order.indexOf(profile.kinds[kind].name);
  return [...new Set(profile.functions.kind)].sort((a, b) => place(a) - place(b));
}

function toggleKind(kind) {
  if (!view.leftOut.delete(kind))
    view.leftOut.add(kind);
  rebuild();
}

function kindSwitch(kind, share) {
  const { name, label } = profile.kinds[kind], on = !view.leftOut.has(kind), waits = name === 'waiting' || name === 'idle';
  const swatch = make('span', { class: 'swatch', 'aria-hidden': 'true' });
  swatch.style.background = PALETTES[theme()][name] || PALETTES[theme()].other;
  swatch.hidden = profile.difference !== null;
  const effect = waits ? 'leaves its time out' : 'counts its time at the caller';
  return make('button', { 'aria-pressed': on, 'data-kind': name, title: on ? label + ': self ' + share + '. Switching it off ' + effect + '.' :
    label + ' is left out. Click to show it.', onclick: () => toggleKind(kind) }, swatch, label, make('span', { class: 'share' }, share));
}

function verdictLegend() {
  const palette = PALETTES[theme()], entry = (text, colours) => make('span', { class: 'entry' }, ...colours.map((colour) => {
    const swatch = make('span', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.background = colour;
    return swatch;
  }), text);
  const gone = make('span', { class: 'entry' }, make('span', { class: 'swatch gone', 'aria-hidden': 'true' }), '(gone)');
  return make('span', { class: 'verdicts' }, entry('+ grew', palette.grew), entry('− shrank', palette.shrank),
    entry('not distinguishable from noise', [palette.same]), gone);
}

function showLegend() {
  const sums = kindSums(), whole = sums.reduce((sum, value) => sum + value, 0);
  const focused = document.activeElement && document.activeElement.dataset.kind;
  byId('legend').replaceChildren(...(profile.difference ? [verdictLegend()] : []),
    ...kindsThere().map((kind) => kindSwitch(kind, percent(sums[kind], whole))));
  const again = focused && byId('legend').querySelector(`[data-kind="${CSS.escape(focused)}"]`);
  if (again)
    again.focus();
}
