// SPDX-License-Identifier: MIT
// The beginning, and what happens when the person chooses something.

const TABS = ['graph', 'table', 'sources'];

function press(id, on) {
  byId(id).setAttribute('aria-pressed', on);
}

function showBar() {
  const weight = weightNow();
  byId('groups').textContent = groupsLabel();
  byId('weight').textContent = weight.label + ' · ' + amount(wholeOf(forward), weight.unit);
  for (const [id, on] of [['callers', !view.inverted], ['inverted', view.inverted], ['icicle', !view.flame], ['flame', view.flame],
    ['lines', view.lines], ['regular', view.regular], ['after', view.side === 'after'], ['before', view.side === 'before']])
    press(id, on);
  byId('sides').hidden = profile.difference === null;
}

function showFound() {
  const found = byId('found');
  matches = findMatches();
  found.classList.toggle('wrong', matches !== null && matches.wrong !== '');
  found.textContent = !matches ? '' : matches.wrong ? 'no expression' : percent(matchedTotal(forward, matches), wholeOf(forward)) + ' matched';
  found.title = !matches ? '' : visible(matches.wrong) || count(matches.functions.reduce((sum, match) => sum + match, 0), 'function');
}

// Makes the tree anew. The zoom stays where it was as far as the path is there.
function rebuild(path = null) {
  const way = path || (shown ? pathOf(shown, graph.zoom) : []), selected = shown ? pathOf(shown, graph.selected) : [];
  noteWhatIsShown();
  forward = growForward();
  shown = view.inverted ? invert(forward) : forward;
  totals = functionTotals(forward);
  graph.zoom = view.zoom = follow(shown, way);
  graph.selected = selected.length ? follow(shown, selected) : 0;
  graph.zooms = [];
  graph.hovered = -1;
  refresh();
}

// Shows everything that depends on the tree.
function refresh() {
  showFound();
  showBar();
  showLegend();
  showPanel();
  showTabs();
  byId('nothing').hidden = shown.size[0] > 0;
  byId('nothing').textContent = groupsChosen().length ? 'Nothing has ' + weightNow().label + ' here.' :
    profile.groups.length ? 'No thread is chosen.' : 'The recording has no samples.';
  showCrumbs();
  noteView();
}

function showTabs() {
  for (const tab of TABS) {
    const on = tab === view.tab;
    byId('tab-' + tab).setAttribute('aria-selected', on);
    byId('tab-' + tab).tabIndex = on ? 0 : -1;
    byId('view-' + tab).hidden = !on;
  }
  document.body.dataset.tab = view.tab;
  if (view.tab === 'table')
    showTable();
  else if (view.tab === 'sources')
    showSources();
  else
    showGraph();
}

function showGraph() {
  measure();
  if (view.flame && graph.zoom === 0)
    byId('graph').scrollTop = graph.height;
  moveTo(graph.zoom, true);
  if (graph.zoom > 0)
    rowIntoView(graph.zoom, 3 * ROW);
}

function showTab(tab, focus = false) {
  view.tab = tab;
  showTabs();
  noteView(true);
  if (focus)
    byId(tab === 'graph' ? 'graph' : 'tab-' + tab).focus();
}

// Takes a change of the view. Another direction has other paths, and so has a tree of lines.
function choose(changes) {
  const turned = 'inverted' in changes || 'lines' in changes;
  const picked = view.picked;
  Object.assign(view, changes);
  if (turned)
    shown = null;
  rebuild();
  if (turned && picked >= 0)
    graph.selected = firstBoxOf(picked);
  if ('flame' in changes)
    byId('graph').scrollTop = view.flame ? graph.height : 0;
  repaint();
}

function search(text, regular) {
  view.search = text;
  view.regular = regular;
  if (byId('search').value !== text)
    byId('search').value = text;
  press('regular', regular);
  showFound();
  if (view.tab === 'table')
    showTable();
  noteView();
  repaint();
}

function useTheme(name) {
  document.documentElement.dataset.theme = name;
  shaded.clear();
  if (shown) {
    showLegend();
    showPanel();
    showTabs();
    repaint();
  }
}

function switchTheme() {
  useTheme(theme() === 'dark' ? 'light' : 'dark');
}

function startBar() {
  startMenu('groups', fillGroups);
  startMenu('weight', fillWeights);
  startMenu('save', fillSave);
  const clicks = { callers: { inverted: false }, inverted: { inverted: true }, icicle: { flame: false }, flame: { flame: true },
    after: { side: 'after' }, before: { side: 'before' } };
  for (const [id, changes] of Object.entries(clicks))
    byId(id).addEventListener('click', () => choose(changes));
  byId('lines').addEventListener('click', () => choose({ lines: !view.lines }));
  byId('theme').addEventListener('click', switchTheme);
  byId('keys').addEventListener('click', showHelp);
}

function startSearch() {
  let waiting = 0;
  byId('search').addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => search(byId('search').value, view.regular), 120);
  });
  byId('search').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter')
      return;
    clearTimeout(waiting);
    search(byId('search').value, view.regular);
    if (view.tab === 'graph') {
      byId('graph').focus();
      nextMatch(event.shiftKey ? -1 : 1);
    }
  });
  byId('regular').addEventListener('click', () => search(byId('search').value, !view.regular));
}

function startTabs() {
  for (const tab of TABS)
    byId('tab-' + tab).addEventListener('click', () => showTab(tab));
  byId('tabs').addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: TABS.length - 1 }[event.key];
    if (!step)
      return;
    const next = TABS[(TABS.indexOf(view.tab) + step) % TABS.length];
    showTab(next);
    byId('tab-' + next).focus();
    event.preventDefault();
  });
}

// Shows the view that the address names.
function goToAddress() {
  readFragment(location.hash.slice(1));
  const { zoom } = view;
  byId('search').value = view.search;
  shown = null;
  rebuild();
  if (zoom > 0 && zoom < shown.count) {
    graph.zoom = view.zoom = zoom;
    graph.selected = zoom;
    refresh();
  }
}

// For tests: what is shown, to be read only.
function readOnly() {
  const boxes = () => graph.painted.filter((box) => box.node >= 0).map((box) => ({ ...box, name: labelOf(shown.key[box.node]),
    y: box.y - byId('graph').scrollTop, depth: shown.depth[box.node], total: shown.total[box.node], self: shown.self[box.node],
    kind: shown.key[box.node] >= 0 ? kindOf(functionOf(shown.key[box.node])).name : '',
    matched: matches !== null && isMatch(matches, shown.key[box.node]),
    verdict: shown.was && box.node > 0 ? verdictText(judgeBox(shown, box.node)) : '' }));
  return Object.freeze({ get boxes() { return boxes(); }, get settled() { return !graph.frame && !graph.moving; },
    get selected() { return labelOf(shown.key[graph.selected]); }, get zoomed() { return labelOf(shown.key[graph.zoom]); },
    get rows() { return shown.count; }, get whole() { return wholeOf(shown); } });
}

async function start() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  useTheme(dark.matches ? 'dark' : 'light');
  dark.addEventListener('change', () => useTheme(dark.matches ? 'dark' : 'light'));
  profile = readProfile(await unpack(byId('data')));
  document.title = profile.title + ' · pyreel';
  byId('title').textContent = profile.title;
  byId('subtitle').textContent = profile.facts.slice(0, 2).map(([, value]) => value).join(' · ');
  startBar();
  startSearch();
  startTabs();
  startKeys();
  document.body.classList.add('ready');
  goToAddress();
  startGraph();
  window.addEventListener('popstate', goToAddress);
  byId('loading').remove();
  Object.defineProperty(window, 'pyreelFlame', { value: readOnly() });
}

start().catch((error) => {
  const place = byId('loading') || document.body.appendChild(make('p', { id: 'loading' }));
  place.textContent = 'This profile cannot be shown. ' + visible(String(error.message));
  place.classList.add('wrong');
  throw error;
});
