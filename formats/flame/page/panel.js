// SPDX-License-Identifier: MIT
// The panel beside the graph: what is known of the function that was chosen, or of the recording.

const PANEL_ROWS = 12;
let totals = null; // of functions, of what is shown

function pick(fn) {
  if (fn === view.picked)
    return;
  view.picked = fn;
  noteView();
  showPanel();
  markPicked();
  repaint();
}

function jump(fn) {
  graph.selected = firstBoxOf(fn);
  graph.byKeys = false;
  pick(fn);
  if (graph.selected > 0 && view.tab === 'graph')
    rowIntoView(graph.selected);
}

// The widest box of a function, or the root.
function firstBoxOf(fn) {
  let best = 0;
  for (let i = 1; i < shown.count; i++)
    if (shown.key[i] >= 0 && functionOf(shown.key[i]) === fn && (best === 0 || shown.size[i] > shown.size[best]))
      best = i;
  return best;
}

// The colour of a function's kind; in a comparison colours are verdicts, and the swatch is hidden.
function swatchOf(fn) {
  const swatch = make('span', { class: 'swatch', 'aria-hidden': 'true', hidden: profile.difference !== null }), name = kindOf(fn).name;
  swatch.style.background = PALETTES[theme()][name] || PALETTES[theme()].other;
  return swatch;
}

function times(value, whole) {
  return [make('td', { class: 'number' }, amount(value, weightNow().unit)), make('td', { class: 'number' }, percent(value, whole))];
}

// The cell of a caller or callee: a function is a jump, a group and the root are not.
function whoCell(key, share, tone) {
  const bar = barOf(share, 'thin ' + tone);
  if (key < 0)
    return make('td', { class: 'who' }, make('span', { class: 'plain' }, key === ROOT ? 'the root' : labelOf(key)), bar);
  const button = make('button', { class: 'link', 'data-fn': key, title: nameOf(key) + ' ' + placeOf(key), onclick: () => jump(key) },
    swatchOf(key), make('span', {}, nameOf(key)));
  return make('td', { class: 'who' }, button, bar);
}

// A table of rows [function or group key, time].
function jumpTable(title, rows, whole, none, tone = '') {
  if (!rows.length)
    return [make('h3', {}, title), make('p', { class: 'note' }, none)];
  const most = rows[0][1], body = make('tbody');
  const fill = (limit) => {
    const more = make('button', { class: 'link more', onclick: () => fill(limit + 200) }, count(rows.length - limit, 'more', 'more'));
    const row = ([key, value]) => make('tr', {}, whoCell(key, value / most, tone), ...times(value, whole));
    body.replaceChildren(...rows.slice(0, limit).map(row), ...(rows.length > limit ? [make('tr', {}, make('td', { colspan: 3 }, more))] : []));
  };
  fill(PANEL_ROWS);
  return [make('h3', {}, title), make('table', { class: 'jumps' }, body)];
}

function headRow(...names) {
  return make('thead', {}, make('tr', {}, ...names.map((name) => make('th', { scope: 'col' }, name))));
}

function sourceLines(fn) {
  const source = profile.sources.get(profile.functions.path[fn]);
  return source && source.text !== undefined ? linesOfSource(source) : null;
}

// The hottest lines of a function, with self and total, and the text where there is one.
function lineTable(fn) {
  const wanted = new Uint8Array(profile.functions.count);
  wanted[fn] = 1;
  const sums = lineTotals(forward, wanted), whole = wholeOf(forward), text = sourceLines(fn);
  const rows = hottestLines(sums).sort((a, b) => a - b).map((line) => [line, sums.get(line)]);
  if (!rows.some(([line]) => line)) // nobody knows a line
    return [];
  const most = rows.reduce((top, [, sums]) => Math.max(top, sums.total), 0), unit = weightNow().unit;
  const textOf = (line) => text && text[line - 1] !== undefined ? [make('code', { title: text[line - 1].trim() }, text[line - 1].trim())] : [];
  const row = ([line, { self, total }]) => make('tr', {},
    make('td', { class: 'number at' }, line ? make('button', { class: 'link', title: 'Show the line in its file',
      onclick: () => openFile(profile.functions.path[fn], line) }, String(line)) : '?'),
    make('td', { class: 'part' }, ...textOf(line), barOf(total / most, 'thin')),
    make('td', { class: 'number', title: percent(self, whole) }, self ? amount(self, unit) : ''),
    make('td', { class: 'number', title: percent(total, whole) }, amount(total, unit)));
  return [make('h3', {}, 'Lines'), make('table', { class: 'lines' }, headRow('', '', 'Self', 'Total'), make('tbody', {}, ...rows.map(row)))];
}

function figure(name, value, whole) {
  return make('div', { class: 'figure' }, make('span', { class: 'label' }, name), make('b', {}, amount(value, weightNow().unit)),
    make('span', { class: 'share' }, percent(value, whole)), barOf(whole > 0 ? value / whole : 0));
}

function verdictTable(fn) {
  const unit = weightNow().unit, by = { self: ['selfWas', 'self'], total: ['was', 'total'] };
  const rows = Object.entries(by).map(([name, [was, now]]) => {
    const judged = judgeFunction(fn, name, totals[was][fn], totals[now][fn]);
    return make('tr', { class: judged.verdict }, make('th', { scope: 'row' }, name === 'self' ? 'Self' : 'Total'), ...[
      amount(judged.was, unit), amount(judged.now, unit)].map((text) => make('td', { class: 'number' }, text)),
    make('td', { class: 'number' }, make('b', {}, changeText(judged, unit)), make('span', { class: 'verdict' }, verdictText(judged)),
      make('small', { title: Math.round(100 * profile.difference.confidence) + '% interval' }, intervalText(judged, unit))));
  });
  return make('table', { class: 'compared' }, headRow('', 'Before', 'After', 'Change'), make('tbody', {}, ...rows));
}

function functionPanel(fn) {
  const whole = wholeOf(forward), { callers, callees } = neighbours(forward, fn), file = profile.functions.path[fn];
  const place = placeOf(fn);
  const where = profile.strings[file] ? make('button', { class: 'link where', title: profile.strings[file],
    onclick: () => openFile(file, profile.functions.line[fn]) }, place) : place;
  return [
    make('div', { class: 'top' }, make('h2', { title: nameOf(fn) }, nameOf(fn)),
      make('button', { class: 'icon', 'aria-label': 'Close the details', title: 'Back to the recording', onclick: () => pick(-1) }, '×')),
    make('p', { class: 'where' }, swatchOf(fn), kindOf(fn).label, ...(place ? [' · ', where] : [])),
    ...(profile.difference ? [verdictTable(fn)] : [make('div', { class: 'figures' }, figure('Self', totals.self[fn], whole),
      figure('Total', totals.total[fn], whole))]),
    make('div', { class: 'row' }, make('button', { id: 'find-boxes', onclick: () => findBoxes(fn) }, 'Find its boxes'),
      make('button', { id: 'hide-function', title: 'Its time counts at its callers (h)', onclick: () => hide(fn) }, 'Hide')),
    ...lineTable(fn),
    ...jumpTable('Callers', callers, whole, 'None is shown.'), ...jumpTable('Callees', callees, whole, 'None is shown.'),
  ];
}

function findBoxes(fn) {
  showTab('graph');
  search('^' + nameOf(fn).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&') + '$', true);
}

function isWait(fn) {
  return ['idle', 'waiting'].includes(kindOf(fn).name);
}

function hottest() {
  const rows = [...totals.self].map((self, fn) => [fn, self]).filter(([fn, self]) => self > 0 && !isWait(fn));
  return rows.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

// Functions by how long they waited: the time of the waits that they called.
function waitedIn() {
  const waited = new Map();
  for (let i = 1; i < forward.count; i++) {
    const caller = forward.key[forward.parent[i]];
    if (forward.key[i] >= 0 && isWait(functionOf(forward.key[i])) && caller >= 0)
      addTo(waited, functionOf(caller), forward.total[i]);
  }
  return heaviest(waited);
}

// Functions whose own time changed most, of those that did surely.
function changed(verdict) {
  const rows = [];
  for (let fn = 0; fn < profile.functions.count; fn++) {
    const judged = judgeFunction(fn, 'self', totals.selfWas[fn], totals.self[fn]);
    if (judged.verdict === verdict)
      rows.push([fn, Math.abs(judged.change)]);
  }
  return rows.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

function recordingPanel() {
  const whole = wholeOf(forward), difference = profile.difference, waited = difference ? [] : waitedIn();
  const facts = difference ? [['Before', visible(difference.before_title)], ['After', visible(difference.after_title)],
    ['Scale', visible(difference.scaled)], ...profile.facts] : profile.facts;
  const pruned = profile.pruned && profile.pruned.nodes ? [['Small stacks', count(profile.pruned.nodes, 'box', 'boxes') + ' below ' +
    percent(profile.pruned.share, 1) + ' of the whole are joined']] : [];
  return [make('div', { class: 'top' }, make('h2', {}, profile.title)),
    make('dl', { class: 'facts' }, ...[...facts, ...pruned].flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)])),
    ...(difference ? [...jumpTable('Grew most, self', changed('grew'), whole, 'Nothing grew that is distinguishable from noise.'),
      ...jumpTable('Shrank most, self', changed('shrank'), whole, 'Nothing shrank that is distinguishable from noise.', 'shrank')] :
      [...jumpTable('Hottest functions, self', hottest(), whole, 'Nothing is shown.'),
        ...(waited.length ? jumpTable('Functions that waited', waited, whole, '') : [])])];
}

function showPanel() {
  byId('panel').replaceChildren(...(view.picked >= 0 ? functionPanel(view.picked) : recordingPanel()));
  byId('panel').scrollTop = 0;
}

function hide(fn) {
  view.hidden.add(fn);
  view.picked = -1;
  rebuild();
}
