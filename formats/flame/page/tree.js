// SPDX-License-Identifier: MIT
// The tree that is shown. A tree is a set of columns with a row for each box, in depth-first order with the largest child first,
// so a box's subtree is the rows from the box to `end`. There is no object for a box and no recursion: a million boxes are fine.
//
//     key      what the box stands for: a function (a frame, if lines are shown), ROOT, or below ROOT a group
//     parent, depth, end
//     self, total      in the unit of the weight; in a comparison, of the side after
//     selfWas, was     of the side before; null without a comparison
//     size, start      width and left edge in the drawing, in the unit of the weight
//
// Of a comparison, a box is as wide as on the chosen side. What that side lacks is as wide as on the other.

const ROOT = -1;
const SHOWN = 0, AT_CALLER = 1, LEFT_OUT = 2;
const SMALLEST_INVERTED = 2e-5; // of the whole: what is smaller is drawn without its callers
const MOST_INVERTED = 1e6;      // boxes: those behind are drawn without their callers
const MOST_STEPS = 5e7;         // of stacks to their callers: a deep recursion has more, and is drawn without callers from there on

function groupKey(group) {
  return -2 - group;
}

function functionOf(key) {
  return view.lines ? profile.frames.function[key] : key;
}

function labelOf(key) {
  if (key < 0)
    return key === ROOT ? rootLabel() : profile.groups[-2 - key].name;
  const line = view.lines ? profile.frames.line[key] : 0;
  return line ? nameOf(functionOf(key)) + ':' + line : nameOf(functionOf(key));
}

function rootLabel() {
  const chosen = groupsChosen();
  return chosen.length === 1 ? profile.groups[chosen[0]].name : profile.title;
}

function keyCount() {
  return view.lines ? profile.frames.count : profile.functions.count;
}

// What happens to each function: shown, its time counts at its caller, or its time is left out.
function treatments() {
  return Uint8Array.from({ length: profile.functions.count }, (_, fn) => {
    const kind = profile.functions.kind[fn], waits = ['waiting', 'idle'].includes(profile.kinds[kind].name);
    if (view.leftOut.has(kind) || view.hidden.has(fn))
      return waits ? LEFT_OUT : AT_CALLER;
    return SHOWN;
  });
}

// Finds the child of a node with a key: a hash table without objects.
function childIndex(parent, key) {
  let bits = 4;
  while (1 << bits < 2 * parent.length)
    bits++;
  const slots = new Int32Array(1 << bits), mask = slots.length - 1;
  return (under, wanted, made) => {
    let at = Math.imul(Math.imul(under, 0x9e3779b1) ^ wanted, 0x85ebca6b) >>> (32 - bits) & mask;
    for (; slots[at] !== 0; at = at + 1 & mask)
      if (parent[slots[at]] === under && key[slots[at]] === wanted)
        return slots[at];
    slots[at] = made;
    parent[made] = under;
    key[made] = wanted;
    return made;
  };
}

// The tree from root to leaves. Also says of each node of the data what it became: `at` (a box, or -1: left out), `seen` (the
// node whose line has its time, or -1), `sum` (its total of what is shown).
function growForward() {
  const { nodes, groups, frames, difference } = profile, room = nodes.count + groups.length + 2;
  const own = nodes.self[view.weight], ownWas = difference && difference.self;
  const parent = new Int32Array(room), key = new Int32Array(room), self = new Float64Array(room);
  const selfWas = difference && new Float64Array(room), treated = treatments();
  const at = new Int32Array(nodes.count), seen = new Int32Array(nodes.count), sum = new Float64Array(nodes.count);
  const find = childIndex(parent, key), apart = view.apart && groupsChosen().length > 1;
  let next = 2; // 0 is no box, 1 the root
  parent[1] = 0;
  key[1] = ROOT;
  const child = (under, wanted) => {
    const found = find(under, wanted, next);
    next += found === next;
    return found;
  };
  for (let i = 0; i < nodes.count; i++) {
    const above = nodes.parent[i], fn = frames.function[nodes.frame[i]];
    const under = above >= 0 ? at[above] : !view.groups[nodes.group[i]] ? -1 : apart ? child(1, groupKey(nodes.group[i])) : 1;
    if (under < 0 || treated[fn] === LEFT_OUT) {
      at[i] = -1;
      continue;
    }
    const visibly = treated[fn] === SHOWN;
    at[i] = visibly ? child(under, view.lines ? nodes.frame[i] : fn) : under;
    seen[i] = visibly ? i : above >= 0 ? seen[above] : -1;
    self[at[i]] += own[i];
    if (ownWas)
      selfWas[at[i]] += ownWas[i];
    sum[i] = own[i];
  }
  for (let i = nodes.count - 1; i >= 0; i--)
    if (nodes.parent[i] >= 0)
      sum[nodes.parent[i]] += sum[i];
  return { ...layOut(next, parent, key, self, selfWas), at, seen, sum };
}

// The part of the width that a box has without its children.
function widthOf(now, was) {
  return view.side === 'before' ? was || now : now || was;
}

function addUp(count, parent, own) {
  const sums = own.slice(0, count);
  for (let i = count - 1; i > 1; i--)
    sums[parent[i]] += sums[i];
  return sums;
}

// Children of each node, the largest first: children of n are listed[first[n]] to listed[first[n + 1] - 1].
function listChildren(count, parent, size) {
  const first = new Int32Array(count + 1), listed = new Int32Array(count);
  for (let i = 2; i < count; i++)
    if (size[i] > 0)
      first[parent[i] + 1]++;
  for (let i = 1; i <= count; i++)
    first[i] += first[i - 1];
  const fill = first.slice();
  for (let i = 2; i < count; i++)
    if (size[i] > 0)
      listed[fill[parent[i]]++] = i;
  for (let i = 1; i < count; i++)
    if (first[i + 1] - first[i] > 1)
      listed.subarray(first[i], first[i + 1]).sort((a, b) => size[b] - size[a] || a - b);
  return { first, listed };
}

function newTree(rows, compared) {
  return { count: 0, key: new Int32Array(rows), parent: new Int32Array(rows), depth: new Int32Array(rows), end: new Int32Array(rows),
    self: new Float64Array(rows), total: new Float64Array(rows), size: new Float64Array(rows), start: new Float64Array(rows),
    selfWas: compared ? new Float64Array(rows) : null, was: compared ? new Float64Array(rows) : null };
}

function setEnds(tree) {
  for (let i = tree.count - 1; i >= 0; i--) {
    tree.end[i] = Math.max(tree.end[i], i + 1);
    if (i > 0)
      tree.end[tree.parent[i]] = Math.max(tree.end[tree.parent[i]], tree.end[i]);
  }
  return tree;
}

function layOut(count, parent, key, self, selfWas) {
  const total = addUp(count, parent, self), was = selfWas && addUp(count, parent, selfWas);
  const size = selfWas ? addUp(count, parent, self.map((now, i) => widthOf(now, selfWas[i]))) : total;
  const { first, listed } = listChildren(count, parent, size);
  const tree = newTree(count - 1, was !== null), place = new Int32Array(count), left = new Float64Array(count), waiting = [1];
  while (waiting.length) {
    const node = waiting.pop(), row = tree.count++;
    place[node] = row;
    tree.key[row] = key[node];
    tree.parent[row] = row ? place[parent[node]] : -1;
    tree.depth[row] = row ? tree.depth[tree.parent[row]] + 1 : 0;
    tree.self[row] = self[node];
    tree.total[row] = total[node];
    tree.size[row] = size[node];
    tree.start[row] = left[node];
    if (was) {
      tree.selfWas[row] = selfWas[node];
      tree.was[row] = was[node];
    }
    let edge = left[node];
    for (let i = first[node]; i < first[node + 1]; i++) {
      left[listed[i]] = edge;
      edge += size[listed[i]];
    }
    for (let i = first[node + 1] - 1; i >= first[node]; i--)
      waiting.push(listed[i]);
  }
  return setEnds(tree);
}

// Columns of a tree whose number of boxes is not known: emit() adds a box and returns its row, tree() makes the tree.
function growingColumns() {
  const columns = { key: [], parent: [], depth: [], self: [], total: [], selfWas: [], was: [], size: [], start: [] };
  const emit = (key, parent, total, was, size, start) => {
    columns.depth.push(parent < 0 ? 0 : columns.depth[parent] + 1);
    columns.key.push(key);
    columns.parent.push(parent);
    columns.self.push(0);
    columns.total.push(total);
    columns.selfWas.push(0);
    columns.was.push(was);
    columns.size.push(size);
    columns.start.push(start);
    return columns.key.length - 1;
  };
  const tree = (compared) => {
    const made = newTree(columns.key.length, compared);
    for (const name in columns)
      if (made[name])
        made[name].set(columns[name]);
    made.count = columns.key.length;
    return setEnds(made);
  };
  return { ...columns, emit, tree };
}

// The tree from callees to callers, made of the tree from root to leaves. Each box with time of its own is a stack; a box of the
// result is the stacks that agree up to it, which stand together in `stacks`. `cursor` is the next caller of each stack.
function invert(tree) {
  const stacks = [];
  for (let i = 0; i < tree.count; i++)
    if (tree.self[i] > 0 || tree.was && tree.selfWas[i] > 0)
      stacks.push(i);
  const stack = Int32Array.from(stacks), cursor = Int32Array.from(stacks), total = stack.length;
  const spare = { stack: new Int32Array(total), cursor: new Int32Array(total) };
  const shift = profile.groups.length + 2, keys = keyCount() + shift;
  const seenOf = new Int32Array(keys), sizeOf = new Float64Array(keys), wasOf = new Float64Array(keys), nowOf = new Float64Array(keys);
  const now = (row) => tree.self[stack[row]], was = (row) => tree.was ? tree.selfWas[stack[row]] : 0;
  const width = (row) => tree.was ? widthOf(now(row), was(row)) : now(row);
  const columns = growingColumns(), waiting = []; // arguments of emit(), and the box's stacks
  // Parts the stacks from low to high by the key at their cursors; a part for each key, the largest first.
  const part = (box, low, high) => {
    const touched = [];
    for (let i = low; i < high; i++) {
      const key = tree.key[cursor[i]] + shift;
      if (seenOf[key]++ === 0)
        touched.push(key);
      sizeOf[key] += width(i);
      nowOf[key] += now(i);
      wasOf[key] += was(i);
    }
    touched.sort((a, b) => sizeOf[b] - sizeOf[a] || a - b);
    let edge = columns.start[box], place = low;
    const parts = [];
    for (const key of touched) {
      parts.push([key - shift, box, nowOf[key], wasOf[key], sizeOf[key], edge, place, place + seenOf[key]]);
      edge += sizeOf[key];
      place += seenOf[key];
      seenOf[key] = place - seenOf[key];
    }
    for (let i = low; i < high; i++) {
      const to = seenOf[tree.key[cursor[i]] + shift]++;
      spare.stack[to] = stack[i];
      spare.cursor[to] = cursor[i];
    }
    stack.set(spare.stack.subarray(low, high), low);
    cursor.set(spare.cursor.subarray(low, high), low);
    for (const key of touched)
      seenOf[key] = sizeOf[key] = nowOf[key] = wasOf[key] = 0;
    for (let i = parts.length - 1; i >= 0; i--)
      waiting.push(parts[i]);
  };
  // The stacks whose caller is the root end here, and go to the back. Returns how many go on.
  const advance = (box, low, high) => {
    let on = low;
    for (let i = low; i < high; i++) {
      const caller = cursor[i] > 0 ? tree.parent[cursor[i]] : 0;
      if (caller <= 0) {
        columns.self[box] += now(i);
        columns.selfWas[box] += was(i);
        continue;
      }
      const ended = stack[i];
      stack[i] = stack[on];
      cursor[i] = cursor[on];
      stack[on] = ended;
      cursor[on++] = caller;
    }
    return on;
  };
  let steps = 0;
  columns.emit(ROOT, -1, tree.total[0], tree.was ? tree.was[0] : 0, tree.size[0], 0);
  part(0, 0, total);
  while (waiting.length) {
    const [key, parent, nowSum, wasSum, size, start, low, high] = waiting.pop();
    const box = columns.emit(key, parent, nowSum, wasSum, size, start), on = advance(box, low, high);
    steps += on - low;
    if (on > low && size >= SMALLEST_INVERTED * tree.size[0] && box < MOST_INVERTED && steps < MOST_STEPS)
      part(box, low, on);
  }
  return columns.tree(tree.was !== null);
}

// ---- places in a tree ----

function pathOf(tree, node) {
  const path = [];
  for (; node > 0; node = tree.parent[node])
    path.push(tree.key[node]);
  return path.reverse();
}

// The box at a path, or the deepest box on the way.
function follow(tree, path) {
  let node = 0;
  for (const key of path) {
    let child = node + 1;
    while (child < tree.end[node] && tree.key[child] !== key)
      child = tree.end[child];
    if (child >= tree.end[node])
      return node;
    node = child;
  }
  return node;
}

function isWithin(tree, node, ancestor) {
  return node >= ancestor && node < tree.end[ancestor];
}

// What 100 percent are.
function wholeOf(tree) {
  return tree.total[0] || (tree.was ? tree.was[0] : 0);
}
