// SPDX-License-Identifier: MIT
// Saving: SVG and PNG of the graph as it is zoomed, with all its rows; and print, which prints an SVG of the graph.

const SVG = 'http://www.w3.org/2000/svg';
const PNG_SIDE_MOST = 16000; // pixels: browsers have no larger canvas
const HEADING = 30, FOOT = 8;

function svgElement(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes))
    element.setAttribute(key, value);
  if (text !== undefined)
    element.textContent = text;
  return element;
}

function headline() {
  const weight = weightNow(), parts = [profile.title, weight.label + ' ' + amount(shown.total[graph.zoom], weight.unit) + ' (' +
    percent(shown.total[graph.zoom], wholeOf(shown)) + ')', groupsLabel()];
  return [...parts, view.inverted ? 'inverted' : '', view.search ? 'search: ' + visible(view.search) : ''].filter(Boolean).join(' · ');
}

function drawing(width) {
  const seen = windowOf(graph.zoom), rows = countRows(seen, width), height = HEADING + rows * ROW + FOOT;
  return { seen, width, rows, height, topOf: (depth) => view.flame ? HEADING + (rows - depth - 1) * ROW : HEADING + depth * ROW };
}

// An SVG of the zoomed part. Each box has its text and a title; nothing in it has a style of its own.
function svgOf(width, colours) {
  const palette = PALETTES[colours], at = drawing(width), unit = weightNow().unit, whole = wholeOf(shown), round = (value) => value.toFixed(2);
  const svg = svgElement('svg', { xmlns: SVG, width, height: at.height, viewBox: `0 0 ${width} ${at.height}`, 'font-size': FONT_SIZE,
    'font-family': 'system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif' });
  svg.append(svgElement('title', {}, headline()), svgElement('rect', { width, height: at.height, fill: palette.paper }),
    svgElement('text', { x: 5, y: 19, fill: palette.text, 'font-size': 13 }, fitted(headline(), width - 10)));
  const stripes = svgElement('pattern', { id: 'gone', width: 8, height: 8, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' });
  stripes.append(svgElement('rect', { width: 2, height: 8, fill: palette.stripe }));
  svg.append(stripes);
  eachBox(shown, at.seen, width, 0, Infinity, (node, x, boxWidth, depth, first) => {
    const y = at.topOf(depth), size = { x: round(x), y, width: round(Math.max(0.6, boxWidth - (boxWidth > 3 ? GAP : 0.2))), height: ROW - GAP };
    if (node < 0) {
      svg.append(svgElement('rect', { ...size, fill: palette.idle, opacity: 0.5 }));
      if (boxWidth > 60)
        svg.append(svgElement('text', { x: round(x + 5), y: y + 14.5, fill: palette.text, opacity: 0.7 },
          smallOnes(shown, ~node, first, boxWidth)));
      return;
    }
    const key = shown.key[node], colour = colourOf(shown, node, palette), box = svgElement('g', {}), words = wordsOf(shown, node, boxWidth);
    const dim = matches !== null && !isMatch(matches, key);
    box.append(svgElement('title', {}, labelOf(key) + '\n' + (key >= 0 ? [placeOf(functionOf(key)), kindOf(functionOf(key)).label]
      .filter(Boolean).join(' · ') + '\n' : '') + amount(shown.total[node], unit) + ' · ' + percent(shown.total[node], whole)),
    svgElement('rect', { ...size, fill: colour.fill, ...(dim ? { opacity: 0.4 } : {}) }));
    if (isGone(shown, node) || isSmall(key))
      box.append(svgElement('rect', { ...size, fill: 'url(#gone)' }));
    if (words.text)
      box.append(svgElement('text', { x: round(x + 5), y: y + 14.5, fill: colour.ink }, words.text));
    if (words.place)
      box.append(svgElement('text', { x: round(x + 5 + words.x), y: y + 14.5, fill: colour.ink, opacity: 0.72 }, words.place));
    svg.append(box);
  });
  return svg;
}

function pngOf(width, done) {
  const at = drawing(width), canvas = document.createElement('canvas');
  const scale = Math.min(2, PNG_SIDE_MOST / width, PNG_SIDE_MOST / at.height);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(at.height * scale);
  const to = canvas.getContext('2d'), palette = PALETTES[theme()];
  to.scale(scale, scale);
  to.fillStyle = palette.paper;
  to.fillRect(0, 0, width, at.height);
  paintBoxes(to, shown, at.seen, width, 0, Infinity, at.topOf, { theme: theme(), matches, zoom: -1 });
  to.font = FONT;
  to.textBaseline = 'middle';
  to.fillStyle = palette.text;
  to.fillText(fitted(headline(), width - 10), 5, HEADING / 2);
  canvas.toBlob(done, 'image/png');
}

function fileName(ending) {
  return (profile.title.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[-.]+|[-.]+$/g, '').slice(0, 80) || 'profile') + '.' + ending;
}

function offer(blob, ending) {
  const address = URL.createObjectURL(blob), link = make('a', { href: address, download: fileName(ending) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function drawnWidth() {
  return Math.max(800, byId('graph').clientWidth || 1200);
}

function saveSvg() {
  offer(new Blob([new XMLSerializer().serializeToString(svgOf(drawnWidth(), theme()))], { type: 'image/svg+xml' }), 'svg');
}

function savePng() {
  pngOf(drawnWidth(), (blob) => offer(blob, 'png'));
}

function fillSave(drop) {
  const entry = (id, text, action) => make('li', {}, make('button', { id, onclick: () => { closeMenus(true); action(); } }, text));
  const entries = [entry('save-svg', 'Graph as SVG', saveSvg), entry('save-png', 'Graph as PNG', savePng),
    entry('save-print', 'Print …', () => window.print())];
  drop.replaceChildren(make('ul', { class: 'actions' }, ...entries), make('p', { class: 'note' },
    'The part that is zoomed, with all its rows. The address of this page leads to this view.'));
}

window.addEventListener('beforeprint', () => {
  if (shown && view.tab === 'graph')
    byId('print').replaceChildren(svgOf(1100, 'light'));
});
window.addEventListener('afterprint', () => byId('print').replaceChildren());
