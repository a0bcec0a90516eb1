// SPDX-License-Identifier: MIT
// Keys that work everywhere, except where text is typed.

const KEYS = [
  ['← → ↑ ↓', 'move among boxes'], ['Enter', 'zoom to the box'], ['Escape', 'back: close, clear the search, zoom out'],
  ['Home', 'to the zoomed box'], ['0', 'zoom out fully'], ['/', 'search'], ['n  N', 'next match, match before'],
  ['i', 'inverted: callees first'], ['f', 'icicle or flame'], ['l', 'lines or functions'], ['w', 'next weight'], ['g', 'threads'],
  ['h', 'hide the chosen function'], ['1  2  3', 'graph, functions, files'], ['t', 'light or dark'], ['?', 'these keys'],
];

function showHelp() {
  const help = byId('help');
  help.replaceChildren(make('h2', { id: 'help-title' }, 'Keys'), make('dl', {}, ...KEYS.flatMap(([keys, what]) => [
    make('dt', {}, ...keys.split('  ').map((key) => make('kbd', {}, key))), make('dd', {}, what)])),
  make('p', { class: 'note' }, 'A click on a box zooms and shows its function beside the graph. The legend switches kinds of code ' +
    'off: their time counts at their callers, and time of waiting is left out.'), make('button', { onclick: () => help.close(), autofocus: true }, 'Close'));
  help.showModal();
}

function escape() {
  if (closeMenus(true))
    return;
  if (view.search)
    search('', view.regular);
  else if (graph.zoom > 0)
    zoomBack();
  else if (view.picked >= 0)
    select(0);
}

const ACTIONS = {
  '/': () => { byId('search').focus(); byId('search').select(); },
  '?': showHelp, 'i': () => choose({ inverted: !view.inverted }), 'f': () => choose({ flame: !view.flame }),
  'l': () => choose({ lines: !view.lines }), 'w': nextWeight, 'g': () => byId('groups').click(), 't': switchTheme,
  'h': () => { if (view.picked >= 0) hide(view.picked); }, 'n': () => nextMatch(1), 'N': () => nextMatch(-1), '0': () => zoomTo(0),
  '1': () => showTab('graph', true), '2': () => showTab('table', true), '3': () => showTab('sources', true), 'Escape': escape,
};

// The next box that matches, in the order of the tree, of those that are drawn.
function nextMatch(step) {
  if (!matches)
    return;
  for (let moved = 1, i = graph.selected; moved <= shown.count; moved++) {
    i = (i + step + shown.count) % shown.count;
    if (isMatch(matches, shown.key[i]) && isDrawn(i)) {
      select(i, true);
      return;
    }
  }
}

function startKeys() {
  document.addEventListener('keydown', (event) => {
    const typing = event.target.matches('input[type=search]');
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || byId('help').open || typing && event.key !== 'Escape')
      return;
    const action = ACTIONS[event.key];
    if (!action && event.target === document.body && view.tab === 'graph') { // nothing has the focus
      byId('graph').focus();
      graphKey(event);
    }
    if (!action)
      return;
    event.preventDefault();
    if (typing)
      byId('graph').focus();
    action();
  });
}
