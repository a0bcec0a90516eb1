// SPDX-License-Identifier: MIT
// The data of the page (schemas/flame.md): unpacked, checked, and in columns of numbers.

let profile = null;

function bytesOf(base64) {
  const binary = atob(base64), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++)
    bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unpack(element) {
  if (typeof DecompressionStream === 'undefined')
    throw new Error('This browser is too old: it cannot unpack gzip. Browsers made since May 2023 can.');
  const packed = new Blob([bytesOf(element.textContent)]);
  element.remove();
  return JSON.parse(await new Response(packed.stream().pipeThrough(new DecompressionStream('gzip'))).text());
}

// A column of whole numbers below `limit`, as long as its table.
function column(values, length, limit, Column = Int32Array) {
  if (values.length !== length)
    throw new Error('The data is damaged: a column is too short or too long.');
  const numbers = Column.from(values);
  if (numbers.some((number) => number < 0 || number >= limit))
    throw new Error('The data is damaged: a number leads nowhere.');
  return numbers;
}

// Any line that a recording names, also an absurd one.
function lineColumn(values, length) {
  return column(values, length, 2 ** 32, Uint32Array);
}

function amounts(values, length) {
  if (values.length !== length)
    throw new Error('The data is damaged: a column is too short or too long.');
  return Float64Array.from(values);
}

// The rows of a tree in depth-first order: children in the order of their numbers. `parent` has -1 for what has none.
function depthFirst(parent) {
  const total = parent.length, first = new Int32Array(total + 2), listed = new Int32Array(total);
  for (let i = 0; i < total; i++)
    first[parent[i] + 2]++;
  for (let i = 1; i < total + 2; i++)
    first[i] += first[i - 1];
  const fill = first.slice();
  for (let i = 0; i < total; i++)
    listed[fill[parent[i] + 1]++] = i;
  const order = new Int32Array(total), waiting = [];
  for (let i = first[1] - 1; i >= 0; i--)
    waiting.push(listed[i]);
  for (let at = 0; waiting.length; at++) {
    const node = order[at] = waiting.pop();
    for (let i = first[node + 2] - 1; i >= first[node + 1]; i--)
      waiting.push(listed[i]);
  }
  return order;
}

function permuted(values, order) {
  return values.map((_, i) => values[order[i]]);
}

// An object with its texts made visible.
function visibly(row) {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? visible(value) : value]));
}

// Groups with the names that people read: the process only if there are several, its pid only if several have its name.
function readGroups(raw) {
  const pids = new Map(), groups = raw.map(visibly);
  for (const { process, pid } of groups)
    pids.set(process, (pids.get(process) || new Set()).add(pid));
  const several = pids.size > 1 || [...pids.values()].some((of) => of.size > 1);
  return groups.map((group) => {
    const process = group.process + (group.pid && pids.get(group.process).size > 1 ? ' (' + group.pid + ')' : '');
    const thread = group.thread + (group.tid ? ' (' + group.tid + ')' : '');
    return { ...group, name: [several || !thread && !group.task ? process : '', thread, group.task].filter(Boolean).join(' › ') };
  });
}

function readNodes(raw, frames, groups, known) {
  const length = raw.parent.length;
  const parent = Int32Array.from(raw.parent, (distance, i) => distance === 0 ? -1 : i - distance);
  if (parent.some((above, i) => above < -1 || above >= i))
    throw new Error('The data is damaged: a parent does not stand in front of its child.');
  const order = depthFirst(parent), place = new Int32Array(length), depth = new Int32Array(length);
  order.forEach((node, at) => { place[node] = at; });
  const moved = permuted(parent, order).map((above) => above < 0 ? -1 : place[above]);
  for (let i = 0; i < length; i++)
    depth[i] = moved[i] < 0 ? 0 : depth[moved[i]] + 1;
  const self = {};
  for (const weight of known)
    self[weight.name] = permuted(amounts(raw.self[weight.name], length), order);
  return { count: length, order, parent: moved, depth, group: permuted(column(raw.group, length, groups), order),
    frame: permuted(column(raw.frame, length, frames), order), self };
}

function readDifference(raw, order) {
  return raw && { ...raw, self: permuted(amounts(raw.self, order.length), order),
    verdicts: new Map(raw.functions.map((row) => [row.function + ' ' + row.by, row])) };
}

function readProfile(raw) {
  if (raw.version !== 1)
    throw new Error('The data has version ' + Number(raw.version) + ', and this page knows version 1.');
  const strings = raw.strings.map(visible), functions = raw.functions.name.length, frames = raw.frames.function.length;
  const text = (values) => column(values, functions, strings.length);
  const known = raw.weights.filter((weight) => weight.known);
  const nodes = readNodes(raw.nodes, frames, raw.groups.length, known);
  return {
    title: visible(raw.title), facts: raw.facts.map(([name, value]) => [visible(name), visible(value)]),
    first: raw.first, weights: raw.weights.map(visibly), kinds: raw.kinds.map(visibly), strings, nodes, pruned: raw.pruned,
    functions: { count: functions, name: text(raw.functions.name), file: text(raw.functions.file), path: text(raw.functions.path),
      line: lineColumn(raw.functions.line, functions), kind: column(raw.functions.kind, functions, raw.kinds.length) },
    frames: { count: frames, function: column(raw.frames.function, frames, functions), line: lineColumn(raw.frames.line, frames) },
    groups: readGroups(raw.groups),
    sources: new Map(raw.sources.map((source) => [source.path, source])),
    difference: readDifference(raw.difference, nodes.order),
  };
}

// ---- names of things ----

function nameOf(fn) {
  return profile.strings[profile.functions.name[fn]];
}

function fileOf(fn) {
  return profile.strings[profile.functions.file[fn]];
}

// Where a function begins: app.py:17.
function placeOf(fn, line = profile.functions.line[fn]) {
  const file = fileOf(fn);
  return file && line ? file + ':' + line : file;
}

function kindOf(fn) {
  return profile.kinds[profile.functions.kind[fn]];
}

