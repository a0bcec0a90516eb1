// SPDX-License-Identifier: MIT
// Files: a list of all, and one file with self and total beside each line, and jumps to callers and callees.

const LINES_WHOLE = 6000; // lines: of a longer file only so many around the hottest lines are shown
const AROUND = 8;
const JUMPS = 3;

const splitSources = new WeakMap();
let fileShown = -1; // by the last showSources()

// The lines of a source, visible, but with their tabs.
function linesOfSource(source) {
  if (!splitSources.has(source))
    splitSources.set(source, source.text.split(/\r\n|\r|\n/).map((line) => line.split('\t').map(visible).join('\t')));
  return splitSources.get(source);
}

// Files that have time: [{path, name, self, total}], the hottest by self first. Time in a file counts once.
function fileTotals() {
  const { functions, strings } = profile, keys = strings.length, self = new Float64Array(keys), total = new Float64Array(keys);
  const keyOf = (i) => forward.key[i] < 0 ? -1 : functions.path[functionOf(forward.key[i])];
  const names = new Map();
  eachOnce(forward.count, forward.depth, keyOf, keys, (i, path, first) => {
    if (path < 0 || strings[path] === '')
      return;
    names.set(path, fileOf(functionOf(forward.key[i])));
    self[path] += forward.self[i];
    total[path] += first ? forward.total[i] : 0;
  });
  return [...names].map(([path, name]) => ({ path, name: name || strings[path], self: self[path], total: total[path] }))
    .sort((a, b) => b.self - a.self || b.total - a.total || a.path - b.path);
}

function openFile(path, line = 0) {
  view.file = path;
  showTab('sources');
  const row = byId('view-sources').querySelector(`[data-line="${line}"]`);
  if (!row)
    return;
  row.scrollIntoView({ block: 'center' });
  row.classList.add('here');
}

function fileEntry(file, whole, most) {
  const cut = file.name.lastIndexOf('/') + 1, has = profile.sources.has(file.path) && profile.sources.get(file.path).text !== undefined;
  return make('li', {}, make('button', { 'aria-current': file.path === view.file ? 'true' : null, 'data-file': file.path,
    title: profile.strings[file.path], onclick: () => {
      openFile(file.path);
      byId('view-sources').querySelector(`[data-file="${file.path}"]`).focus();
    } }, make('span', { class: 'name' }, file.name.slice(cut)), make('span', { class: 'number' }, percent(file.self, whole)),
  barOf(file.self / most), make('small', {}, [file.name.slice(0, cut), 'total ' + percent(file.total, whole), has ? '' : 'no text'].filter(Boolean).join(' · '))));
}

// The lines with most time, the hottest first: so many that a browser can show them.
function hottestLines(hot) {
  return [...hot].sort((a, b) => b[1].total - a[1].total || a[0] - b[0]).slice(0, LINES_WHOLE).map(([line]) => line);
}

// Which lines are shown: all, or those around the hottest lines. -1 stands for a gap.
function linesToShow(last, hot) {
  if (last <= LINES_WHOLE)
    return Array.from({ length: last }, (_, i) => i + 1);
  const near = new Set();
  for (const line of hottestLines(hot)) {
    if (near.size >= LINES_WHOLE)
      break;
    for (let i = Math.max(1, line - AROUND); i <= Math.min(last, line + AROUND); i++)
      near.add(i);
  }
  const lines = [...near].sort((a, b) => a - b);
  return lines.flatMap((line, i) => i && lines[i - 1] !== line - 1 ? [-1, line] : [line]);
}

function jumpsOf(map, arrow, title) {
  const rows = heaviest(map || new Map());
  const go = (fn) => {
    if (profile.strings[profile.functions.path[fn]])
      openFile(profile.functions.path[fn], profile.functions.line[fn]);
    jump(fn);
  };
  return rows.slice(0, JUMPS).map(([fn, value]) => make('button', { class: 'jump', 'data-fn': fn, onclick: () => go(fn),
    title: [title, nameOf(fn), placeOf(fn), amount(value, weightNow().unit)].join(' ') }, arrow + ' ', fitted(nameOf(fn), 150)));
}

function heat(cell, value, most) {
  if (value > 0)
    cell.style.setProperty('--heat', (8 + 62 * Math.sqrt(value / most)).toFixed(1) + '%');
  return cell;
}

// What is beside and behind the lines of a file: {hot, hottest, callees, callers, begins, text, mostSelf, mostTotal}. `hottest` is
// the line with most self; `begins` has the function that begins at a line.
function factsOfFile(path) {
  const { functions } = profile, wanted = Uint8Array.from(functions.path, (other) => other === path), source = profile.sources.get(path);
  const hot = lineTotals(forward, wanted), { callees, callers } = lineCalls(forward, wanted);
  const most = (which) => [...hot.values()].reduce((top, sums) => Math.max(top, sums[which]), 0) || 1;
  const [hottest] = [...hot.keys()].sort((a, b) => hot.get(b).self - hot.get(a).self || a - b);
  return { hot, hottest, callees, callers, begins: new Map([...callers.keys()].map((fn) => [functions.line[fn], fn])),
    text: source && source.text !== undefined ? linesOfSource(source) : null, mostSelf: most('self'), mostTotal: most('total') };
}

function sourceRow(facts, line) {
  if (line < 0)
    return make('tr', { class: 'gap' }, make('td', { colspan: 4 }, '⋯'));
  const { self, total } = facts.hot.get(line) || { self: 0, total: 0 }, unit = weightNow().unit, whole = wholeOf(forward);
  const cell = (value, most) => heat(make('td', { class: 'number', title: value ? percent(value, whole) : null },
    value ? amount(value, unit) : ''), value, most);
  const callers = facts.begins.has(line) ? facts.callers.get(facts.begins.get(line)) : null;
  const text = make('td', { class: 'text' }, make('code', {}, facts.text ? facts.text[line - 1] : ''),
    ...jumpsOf(callers, '←', 'Called by'), ...jumpsOf(facts.callees.get(line), '→', 'Calls'));
  const marks = (total > 0 ? 'hot' : '') + (line === facts.hottest ? ' hottest' : '');
  return make('tr', { 'data-line': line, class: marks }, cell(self, facts.mostSelf), cell(total, facts.mostTotal),
    make('td', { class: 'number at' }, String(line)), text);
}

function fileTable(path) {
  const facts = factsOfFile(path), source = profile.sources.get(path);
  const numbers = facts.text ? linesToShow(facts.text.length, facts.hot) :
    [...new Set([...hottestLines(facts.hot), ...facts.begins.keys()])].slice(0, LINES_WHOLE).filter(Boolean).sort((a, b) => a - b);
  const reason = 'The text of this file is not in this page' +
    (source && source.reason ? ': ' + visible(source.reason) : ' (pyreel-flame --sources puts it there)') + '. Lines with time:';
  const head = ['Self', 'Total', 'Line', ''].map((name) => make('th', { scope: 'col', class: name ? 'number' : '' }, name));
  return make('div', { class: 'file' }, make('h2', {}, profile.strings[path]), ...(facts.text ? [] : [make('p', { class: 'note' }, reason)]),
    make('table', { class: 'source' }, make('thead', {}, make('tr', {}, ...head)),
      make('tbody', {}, ...numbers.map((line) => sourceRow(facts, line)))));
}

function showSources() {
  const files = fileTotals(), whole = wholeOf(forward), most = files.length ? files[0].self || 1 : 1;
  if (!files.some((file) => file.path === view.file))
    view.file = files.length ? files[0].path : -1;
  const list = byId('view-sources').querySelector('.files'), scrolled = list ? list.scrollTop : 0;
  const listed = make('ul', { class: 'files', 'aria-label': 'Files' }, ...files.slice(0, 2000).map((file) => fileEntry(file, whole, most)));
  byId('view-sources').replaceChildren(listed, view.file >= 0 ? fileTable(view.file) : make('p', { class: 'note' }, 'No file has time.'));
  listed.scrollTop = scrolled;
  const hottest = byId('view-sources').querySelector('.source .hottest');
  if (hottest && view.file !== fileShown)
    hottest.scrollIntoView({ block: 'center' });
  fileShown = view.file;
}
