// SPDX-License-Identifier: MIT
// Boxes of a drawing: which boxes of a tree are seen through a window, and how a box is painted. The screen, PNG and SVG share
// both.

const ROW = 21, GAP = 1, FONT_SIZE = 12;
const FONT = FONT_SIZE + 'px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const LEAST = 0.7;      // pixels: a narrower box is not drawn
const TEXT_LEAST = 26;  // pixels: a narrower box has no text
const LABEL_MOST = 300; // characters

// Calls emit(node, x, width) for each box that is wide enough. `seen` is {from, to}: the part of the tree, in its unit, that is
// `width` pixels wide; rows from `low` to `high`. Small children that stand together are emitted as one, with ~parent as node,
// and the first of them as a fifth argument.
function eachBox(tree, seen, width, low, high, emit) {
  const scale = width / (seen.to - seen.from);
  for (let i = 0; i < tree.count;) {
    const start = tree.start[i], size = tree.size[i], depth = tree.depth[i];
    if (start >= seen.to || start + size <= seen.from) {
      i = tree.end[i];
      continue;
    }
    const left = Math.max(0, (start - seen.from) * scale), right = Math.min(width, (start + size - seen.from) * scale);
    if (size * scale < LEAST && i > 0) { // siblings behind are smaller
      const parent = tree.parent[i], rest = Math.min(width, left + restOf(tree, parent, start) * scale);
      if (rest - left >= LEAST && depth >= low && depth <= high)
        emit(~parent, left, rest - left, depth, i);
      i = tree.end[parent];
      continue;
    }
    if (depth >= low && depth <= high)
      emit(i, left, right - left, depth);
    i = depth >= high ? tree.end[i] : i + 1;
  }
}

// The width of the children of a box from a left edge on.
function restOf(tree, parent, start) {
  const last = lastChildEnd(tree, parent);
  return Math.max(0, last - start);
}

const childrenEnds = new WeakMap();

// The right edge of the children of a box.
function lastChildEnd(tree, parent) {
  if (!childrenEnds.has(tree)) {
    const ends = Float64Array.from(tree.start);
    for (let i = 1; i < tree.count; i++)
      ends[tree.parent[i]] = Math.max(ends[tree.parent[i]], tree.start[i] + tree.size[i]);
    childrenEnds.set(tree, ends);
  }
  return childrenEnds.get(tree)[parent];
}

const ruler = document.createElement('canvas').getContext('2d');
const widths = new Map();

function widthOfText(text) {
  if (!widths.has(text)) {
    if (widths.size > 50000)
      widths.clear();
    ruler.font = FONT;
    widths.set(text, ruler.measureText(text).width);
  }
  return widths.get(text);
}

// The text, or its beginning with an ellipsis, within a width in pixels; '' when there is no room for two letters.
function fitted(text, room) {
  if (text.length > LABEL_MOST)
    text = text.slice(0, LABEL_MOST) + '…';
  const full = widthOfText(text);
  if (full <= room)
    return text;
  const letters = Array.from(text);
  let low = 0, high = Math.min(letters.length - 1, Math.ceil(letters.length * room / full) + 3);
  ruler.font = FONT;
  while (low < high) {
    const middle = low + high + 1 >> 1;
    if (ruler.measureText(letters.slice(0, middle).join('') + '…').width <= room)
      low = middle;
    else
      high = middle - 1;
  }
  return low < 2 ? '' : letters.slice(0, low).join('') + '…';
}

function smallOnes(tree, parent, first, width) {
  let number = 0;
  for (let i = first; i < tree.end[parent]; i = tree.end[i])
    number++;
  return fitted(count(number, 'small box', 'small boxes'), width - 10);
}

// All modules have one name, and their files tell them apart: as many last parts of the path as there is room for.
function moduleOf(file, room) {
  const parts = file.replace(/\/__init__\.py$/, '').split('/');
  while (parts.length > 1 && widthOfText(parts.join('/')) > room)
    parts.shift();
  return fitted(parts.join('/'), room);
}

// The words of a box: {text, place}. `place` is the file, where the box has room for the file; of a module, the file goes first.
function wordsOf(tree, node, width) {
  if (width < TEXT_LEAST)
    return { text: '', place: '', x: 0 };
  const key = tree.key[node], room = width - 10;
  const label = tree.was && node > 0 ? comparedLabel(tree, node) : labelOf(key), text = fitted(label, room), used = widthOfText(text) + 8;
  const place = key >= 0 && room - used > 40 ? fitted(view.lines ? fileOf(functionOf(key)) : placeOf(functionOf(key)), room - used) : '';
  if (place && !place.endsWith('…'))
    return { text, place, x: used };
  return { text: label === '<module>' && fileOf(functionOf(key)) ? moduleOf(fileOf(functionOf(key)), room) : text, place: '', x: used };
}

function comparedLabel(tree, node) {
  const judged = judgeBox(tree, node), sign = SIGNS[judged.verdict];
  return (sign && sign + ' ') + labelOf(tree.key[node]) + (isGone(tree, node) ? ' (gone)' : isNew(tree, node) ? ' (new)' : '');
}

// Paints one box. `look` says what is special: dim, matched, hatched.
function paintBox(context, palette, colour, x, y, width, look) {
  const height = ROW - GAP, inner = Math.max(0.6, width - (width > 3 ? GAP : 0.2));
  context.globalAlpha = look.dim ? 0.38 : 1;
  context.fillStyle = colour.fill;
  context.fillRect(x, y, inner, height);
  if (look.hatched && width > 3)
    paintStripes(context, palette, x, y, inner, height);
  if (look.matched) {
    context.fillStyle = palette.match;
    context.fillRect(x, y + height - 3, inner, 3);
  }
}

function paintStripes(context, palette, x, y, width, height) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = palette.stripe;
  context.lineWidth = 2;
  context.beginPath();
  for (let at = x - height - x % 8; at < x + width; at += 8) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

function paintWords(context, ink, words, x, y) {
  const base = y + (ROW - GAP) / 2 + 0.5;
  context.fillStyle = ink;
  context.fillText(words.text, x + 5, base);
  if (words.place) {
    context.globalAlpha *= 0.72;
    context.fillText(words.place, x + 5 + words.x, base);
  }
}

// Paints the boxes of a tree, and returns them: [{node, x, y, width, text}]. `seen`, `width`, `low`, `high` as of eachBox().
// `topOf(depth)` is the upper edge of a row.
function paintBoxes(context, tree, seen, width, low, high, topOf, look) {
  const palette = PALETTES[look.theme], painted = [];
  context.font = FONT;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  context.direction = 'ltr';
  eachBox(tree, seen, width, low, high, (node, x, boxWidth, depth, first) => {
    const y = topOf(depth);
    if (node < 0) {
      paintBox(context, palette, { fill: palette.idle }, x, y, boxWidth, { dim: true });
      context.globalAlpha = 0.7;
      if (boxWidth > 60)
        paintWords(context, palette.text, { text: smallOnes(tree, ~node, first, boxWidth) }, x, y);
      return;
    }
    const colour = colourOf(tree, node, palette), key = tree.key[node];
    const matched = look.matches !== null && isMatch(look.matches, key);
    const dim = look.matches !== null && !matched || node < look.zoom && isWithin(tree, look.zoom, node);
    paintBox(context, palette, colour, x, y, boxWidth, { dim, matched, hatched: isGone(tree, node) || isSmall(key) });
    const words = wordsOf(tree, node, boxWidth);
    context.globalAlpha = dim ? 0.75 : 1;
    if (words.text)
      paintWords(context, dim ? palette.text : colour.ink, words, x, y);
    painted.push({ node, x, y, width: boxWidth, text: words.text });
  });
  context.globalAlpha = 1;
  return painted;
}

function isSmall(key) {
  return key >= 0 && profile.pruned !== null && functionOf(key) === profile.pruned.function;
}
