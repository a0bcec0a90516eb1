// SPDX-License-Identifier: MIT
// All functions in a table that can be sorted.

const TABLE_ROWS = 500;
const sorted = { by: 'self', down: true, rows: TABLE_ROWS };

const numeric = (label, value) => ({ label, value, number: true });

function tableColumns() {
  const unit = weightNow().unit, whole = wholeOf(forward), judged = (fn, by) =>
    judgeFunction(fn, by, by === 'self' ? totals.selfWas[fn] : totals.was[fn], totals[by][fn]);
  const words = { name: { label: 'Function', value: nameOf }, file: { label: 'File', value: (fn) => placeOf(fn) },
    kind: { label: 'Kind', value: (fn) => kindOf(fn).label } };
  const cell = (value) => [amount(value, unit), percent(value, whole)];
  if (!profile.difference)
    return { self: { ...numeric('Self', (fn) => totals.self[fn]), cell }, total: { ...numeric('Total', (fn) => totals.total[fn]), cell },
      ...words };
  const tone = (by) => (fn) => judged(fn, by).verdict;
  const change = (by, label) => ({ ...numeric(label, (fn) => judged(fn, by).change), tone: tone(by),
    cell: (value) => [signed(amount(value, unit), value)] });
  const sides = (fn) => amount(judged(fn, 'self').was, unit) + ' → ' + amount(judged(fn, 'self').now, unit);
  const verdict = (fn) => (SIGNS[judged(fn, 'self').verdict] + ' ' + verdictText(judged(fn, 'self'))).trim();
  return { self: change('self', 'Self'), verdict: { label: 'Verdict', value: verdict, tone: tone('self') }, name: words.name,
    sides: { label: 'Before → after', value: sides },
    interval: { label: Math.round(100 * profile.difference.confidence) + '% interval', value: (fn) => intervalText(judged(fn, 'self'), unit) },
    total: change('total', 'Total'), file: words.file };
}

function tableRows(columns) {
  const rows = [], { value, number } = columns[sorted.by];
  for (let fn = 0; fn < profile.functions.count; fn++)
    if ((totals.total[fn] > 0 || totals.was[fn] > 0) && (!matches || matches.functions[fn]))
      rows.push([value(fn), fn]);
  const size = profile.difference ? Math.abs : (amount) => amount;
  const order = number ? (a, b) => size(b) - size(a) : (a, b) => a < b ? -1 : a > b ? 1 : 0;
  rows.sort((a, b) => (sorted.down ? 1 : -1) * order(a[0], b[0]) || a[1] - b[1]);
  return rows.map(([, fn]) => fn);
}

function cellOf(name, shape, fn, most) {
  const value = shape.value(fn);
  if (name === 'name')
    return make('th', { scope: 'row' }, make('button', { class: 'link', 'data-fn': fn, title: value, onclick: () => jump(fn) },
      swatchOf(fn), make('span', {}, value)));
  if (!shape.number)
    return make('td', { class: name + ' ' + (shape.tone ? shape.tone(fn) : ''), title: value }, value);
  return make('td', { class: 'number' }, ...shape.cell(value).map((text, i) => make('span', { class: i || !value ? 'share' : '' }, text)),
    barOf(Math.abs(value) / most, 'thin ' + (shape.tone ? shape.tone(fn) : '')));
}

function headOf(name, shape) {
  const state = sorted.by === name ? (sorted.down === Boolean(shape.number) ? 'descending' : 'ascending') : 'none';
  return make('th', { scope: 'col', 'aria-sort': state, class: shape.number ? 'number' : '' }, make('button', { 'data-sort': name, onclick: () => {
    sorted.down = sorted.by === name ? !sorted.down : true;
    sorted.by = name;
    showTable();
    byId('view-table').querySelector(`[data-sort="${name}"]`).focus();
  } }, shape.label));
}

function showTable() {
  const columns = tableColumns(), rows = tableRows(columns), most = {};
  for (const [name, shape] of Object.entries(columns))
    if (shape.number)
      most[name] = rows.reduce((top, fn) => Math.max(top, Math.abs(shape.value(fn))), 0) || 1;
  const row = (fn) => make('tr', { class: fn === view.picked ? 'picked' : '' }, ...Object.entries(columns).map(([name, shape]) =>
    cellOf(name, shape, fn, most[name])));
  const more = rows.length > sorted.rows ? [make('button', { class: 'link more', onclick: () => {
    sorted.rows += 2000;
    showTable();
  } }, count(rows.length - sorted.rows, 'more', 'more'))] : [];
  const head = Object.entries(columns).map(([name, shape]) => headOf(name, shape));
  byId('view-table').replaceChildren(make('table', { class: 'wide' },
    make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...rows.slice(0, sorted.rows).map(row))), ...more,
  ...(rows.length ? [] : [make('p', { class: 'note' }, 'No function matches.')]));
}

function markPicked() {
  for (const row of document.querySelectorAll('#view-table tr.picked'))
    row.classList.remove('picked');
  const button = byId('view-table').querySelector(`[data-fn="${view.picked}"]`);
  if (button)
    button.closest('tr').classList.add('picked');
}
