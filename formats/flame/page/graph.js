// SPDX-License-Identifier: MIT
// The graph on the screen: a canvas as large as its window, which shows a part of the rows. Pointer and arrow keys choose boxes.

let forward = null; // the tree from root to leaves, always there
let shown = null;   // the tree that is drawn: `forward`, or its inversion
let matches = null; // of the search
const graph = { zoom: 0, selected: 0, hovered: -1, seen: { from: 0, to: 1 }, rows: 1, height: 0, painted: [], zooms: [], frame: 0,
  moving: false, byKeys: false };

const context = byId('canvas').getContext('2d');
const SLOW = matchMedia('(prefers-reduced-motion: reduce)');
const MOVE_MS = 170;

function windowOf(node) {
  const from = shown.start[node], size = shown.size[node];
  return { from, to: from + (size || 1) };
}

// How many rows the zoomed part has, of boxes that are wide enough to be drawn.
function countRows(seen, width) {
  let deepest = 0;
  eachBox(shown, seen, width, 0, Infinity, (node, x, boxWidth, depth) => { deepest = Math.max(deepest, depth); });
  return deepest + 1;
}

function topOf(depth) {
  return view.flame ? graph.height - (depth + 1) * ROW : depth * ROW + 1;
}

// Fits the canvas to its window, and the height of what scrolls to the rows.
function measure() {
  const frame = byId('graph'), width = frame.clientWidth, height = frame.clientHeight, ratio = devicePixelRatio || 1;
  const canvas = byId('canvas');
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  graph.rows = countRows(windowOf(graph.zoom), Math.max(1, width));
  graph.height = Math.max(height, graph.rows * ROW + 8);
  byId('spacer').style.height = Math.max(0, graph.height - height) + 'px';
  graph.ratio = ratio;
}

function paint() {
  graph.frame = 0;
  const frame = byId('graph'), width = frame.clientWidth, height = frame.clientHeight, top = frame.scrollTop;
  const rowAt = (y) => Math.floor((view.flame ? graph.height - y : y) / ROW);
  const edges = [rowAt(top), rowAt(top + height)];
  context.setTransform(graph.ratio, 0, 0, graph.ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.translate(0, -top);
  graph.painted = width < 1 ? [] : paintBoxes(context, shown, graph.seen, width, Math.max(0, Math.min(...edges) - 1),
    Math.max(...edges) + 1, topOf, { theme: theme(), matches, zoom: graph.zoom });
  const palette = PALETTES[theme()];
  for (const box of graph.painted) {
    const picked = box.node > 0 && shown.key[box.node] >= 0 && functionOf(shown.key[box.node]) === view.picked;
    if (picked && box.width > 2)
      outline(box, 1, palette.ring);
    if (box.node === graph.hovered)
      outline(box, 1.5, theme() === 'dark' ? '#ffffff' : '#000000');
  }
  const chosen = graph.painted.find((box) => box.node === graph.selected);
  if (chosen && (graph.byKeys || graph.selected > 0))
    outline(chosen, graph.byKeys ? 3 : 2, palette.ring);
  context.setTransform(1, 0, 0, 1, 0, 0);
}

function outline(box, thick, colour) {
  context.globalAlpha = 1;
  context.strokeStyle = colour;
  context.lineWidth = thick;
  context.strokeRect(box.x + thick / 2, box.y + thick / 2, Math.max(1, box.width - thick - GAP), ROW - GAP - thick);
}

function repaint() {
  if (!graph.frame)
    graph.frame = requestAnimationFrame(paint);
}

// Moves the window of the graph to a box.
function moveTo(node, atOnce) {
  const from = graph.seen, to = windowOf(node), begin = performance.now(), zoom = graph.zoom;
  if (atOnce || SLOW.matches || document.hidden) {
    graph.seen = to;
    graph.moving = false;
    repaint();
    return;
  }
  graph.moving = true;
  const step = (now) => {
    if (graph.zoom !== zoom || graph.from !== from)
      return;
    const part = Math.min(1, Math.max(0, (now - begin) / MOVE_MS)), eased = 1 - (1 - part) ** 3;
    graph.seen = part === 1 ? to : { from: from.from + (to.from - from.from) * eased, to: from.to + (to.to - from.to) * eased };
    graph.moving = part < 1;
    paint();
    if (graph.moving)
      requestAnimationFrame(step);
  };
  graph.from = from;
  requestAnimationFrame(step);
}

function rowIntoView(node, margin = ROW) {
  const frame = byId('graph'), top = topOf(shown.depth[node]);
  if (top - margin < frame.scrollTop)
    frame.scrollTop = Math.max(0, top - margin);
  else if (top + ROW + margin > frame.scrollTop + frame.clientHeight)
    frame.scrollTop = top + ROW + margin - frame.clientHeight;
}

// Zooms to a box. `back`: the zoom is a step back, or not the person's own step.
function zoomTo(node, back = false) {
  if (node === graph.zoom)
    return;
  if (!back)
    graph.zooms.push(graph.zoom);
  graph.zoom = view.zoom = node;
  measure();
  moveTo(node, false);
  if (node === 0)
    byId('graph').scrollTop = view.flame ? graph.height : 0;
  else
    rowIntoView(node, 3 * ROW);
  showCrumbs();
  noteView(!back);
}

function zoomBack() {
  const before = graph.zooms.pop();
  zoomTo(before === undefined ? 0 : before, true);
}

// The box at a point of the window: of the row, the box that has the point.
function boxAt(x, y) {
  const frame = byId('graph'), inside = y + frame.scrollTop;
  const depth = Math.floor((view.flame ? graph.height - inside : inside - 1) / ROW);
  const found = graph.painted.find((box) => shown.depth[box.node] === depth && x >= box.x && x < box.x + Math.max(box.width, 1));
  return found ? found.node : -1;
}

// ---- the box that is chosen ----

function select(node, byKeys = false) {
  graph.selected = node;
  graph.byKeys = byKeys;
  rowIntoView(node);
  const key = shown.key[node];
  pick(key >= 0 ? functionOf(key) : -1);
  if (byKeys)
    byId('spoken').textContent = describe(node);
  repaint();
}

// One sentence about a box, for those who hear the page.
function describe(node) {
  const key = shown.key[node], unit = weightNow().unit, whole = wholeOf(shown), words = [labelOf(key)];
  if (key >= 0)
    words.push(placeOf(functionOf(key)), kindOf(functionOf(key)).label);
  words.push(amount(shown.total[node], unit) + ', ' + percent(shown.total[node], whole), 'self ' + amount(shown.self[node], unit));
  if (shown.was && node > 0) {
    const judged = judgeBox(shown, node);
    words.push(changeText(judged, unit), verdictText(judged));
  }
  return words.filter(Boolean).join('; ') + '; level ' + shown.depth[node];
}

function isDrawn(node) {
  const scale = byId('graph').clientWidth / (graph.seen.to - graph.seen.from), start = shown.start[node];
  return shown.size[node] * scale >= LEAST && start < graph.seen.to && start + shown.size[node] > graph.seen.from;
}

// The next box to the right (step 1) or left (-1) in the row, or the box itself.
function besides(node, step) {
  const depth = shown.depth[node];
  for (let i = step > 0 ? shown.end[node] : node - 1; i > 0 && i < shown.count; i += step)
    if (shown.depth[i] === depth && isDrawn(i))
      return i;
  return node;
}

// The widest child; while zoomed, the child on the way to the zoomed box.
function below(node) {
  for (let i = node + 1; i < shown.end[node]; i = shown.end[i])
    if (isDrawn(i))
      return i;
  return node;
}

function step(key) {
  const node = graph.selected, deeper = view.flame ? 'ArrowUp' : 'ArrowDown', higher = view.flame ? 'ArrowDown' : 'ArrowUp';
  if (key === deeper)
    return below(node);
  if (key === higher)
    return node > 0 ? shown.parent[node] : 0;
  return key === 'ArrowRight' ? besides(node, 1) : key === 'ArrowLeft' ? besides(node, -1) : key === 'Home' ? graph.zoom : node;
}

function graphKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey)
    return;
  if (['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home'].includes(event.key))
    select(step(event.key), true);
  else if (event.key === 'Enter' || event.key === ' ')
    zoomTo(graph.selected);
  else
    return;
  event.preventDefault();
}

// ---- what follows the pointer ----

function tipRows(node) {
  const key = shown.key[node], unit = weightNow().unit, whole = wholeOf(shown), rows = [];
  const both = (value, of) => amount(value, unit) + ' · ' + percent(value, of);
  if (shown.was) {
    const judged = judgeBox(shown, node);
    rows.push(['Before', both(judged.was, shown.was[0])], ['After', both(judged.now, shown.total[0])]);
    if (node > 0)
      rows.push(['Change', changeText(judged, unit)], [Math.round(100 * profile.difference.confidence) + '% interval',
        intervalText(judged, unit)], ['Verdict', verdictText(judged)]);
    return rows;
  }
  rows.push(['Total', both(shown.total[node], whole)]);
  if (graph.zoom > 0 && isWithin(shown, node, graph.zoom))
    rows.push(['Of the zoomed', percent(shown.total[node], shown.total[graph.zoom])]);
  if (key >= 0 || shown.self[node] > 0)
    rows.push(['Self', both(shown.self[node], whole)]);
  return rows;
}

function showTip(node, x, y) {
  const tip = byId('tip'), key = shown.key[node], fn = key >= 0 ? functionOf(key) : -1;
  const head = [make('strong', {}, labelOf(key))];
  if (fn >= 0)
    head.push(make('span', { class: 'where' }, [placeOf(fn), kindOf(fn).label].filter(Boolean).join(' · ')));
  tip.replaceChildren(...head, make('dl', {}, ...tipRows(node).flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)])));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - width - 8)) + 'px';
  tip.style.top = (y + 18 + height > innerHeight ? Math.max(4, y - height - 12) : y + 18) + 'px';
}

function hideTip() {
  byId('tip').hidden = true;
  if (graph.hovered >= 0) {
    graph.hovered = -1;
    repaint();
  }
}

function pointed(event) {
  const edge = byId('graph').getBoundingClientRect();
  return boxAt(event.clientX - edge.left, event.clientY - edge.top);
}

function startGraph() {
  const frame = byId('graph');
  new ResizeObserver(() => {
    if (!shown || !frame.clientWidth)
      return;
    const bottom = graph.height - frame.scrollTop - (graph.shownHeight || 0);
    measure();
    frame.scrollTop = view.flame ? graph.height - bottom - frame.clientHeight : frame.scrollTop;
    graph.shownHeight = frame.clientHeight;
    paint();
  }).observe(frame);
  frame.addEventListener('scroll', repaint, { passive: true });
  frame.addEventListener('pointermove', (event) => {
    const node = event.pointerType === 'touch' ? -1 : pointed(event);
    frame.classList.toggle('over', node >= 0);
    if (node < 0) {
      hideTip();
      return;
    }
    if (node !== graph.hovered) {
      graph.hovered = node;
      repaint();
    }
    showTip(node, event.clientX, event.clientY);
  });
  frame.addEventListener('pointerleave', hideTip);
  frame.addEventListener('click', (event) => {
    const node = pointed(event);
    if (node < 0)
      return;
    hideTip();
    select(node);
    zoomTo(node);
  });
  frame.addEventListener('keydown', graphKey);
}

// ---- the way from the root to the zoomed box ----

function showCrumbs() {
  const way = [];
  for (let node = graph.zoom; node >= 0; node = shown.parent[node])
    way.push(node);
  way.reverse();
  const list = way.length > 9 ? [...way.slice(0, 3), -1, ...way.slice(-5)] : way;
  const crumb = (node) => node < 0 ? make('li', { class: 'gap' }, '…') : make('li', {}, make('button', {
    'aria-current': node === graph.zoom ? 'location' : null, title: labelOf(shown.key[node]),
    onclick: () => { select(node); zoomTo(node); } }, fitted(labelOf(shown.key[node]), 240)));
  const hidden = [...view.hidden].map((fn) => make('button', { class: 'chip', title: 'Show the function again',
    'aria-label': 'Show ' + nameOf(fn) + ' again', onclick: () => { view.hidden.delete(fn); rebuild(); } },
  make('s', {}, fitted(nameOf(fn), 160)), ' ×'));
  byId('crumbs').replaceChildren(make('ol', {}, ...list.map(crumb)), make('span', { class: 'share' },
    amount(shown.total[graph.zoom], weightNow().unit) + ' · ' + percent(shown.total[graph.zoom], wholeOf(shown))),
  ...(hidden.length ? [make('span', { class: 'hiddens' }, 'Hidden: ', ...hidden)] : []));
}
