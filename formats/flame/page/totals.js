// SPDX-License-Identifier: MIT
// Sums over a tree: of functions, of lines, of callers and callees. Time in a recursion counts once.

// Calls enter(row, first) for each row of columns in depth-first order. `first`: no row above has the same key (-1: no key).
function eachOnce(count, depthOf, keyOf, keys, enter) {
  const active = new Int32Array(keys), open = [];
  for (let i = 0; i < count; i++) {
    while (open.length > depthOf[i]) {
      const left = open.pop();
      if (left >= 0)
        active[left]--;
    }
    const key = keyOf(i);
    open.push(key);
    enter(i, key, key >= 0 && active[key]++ === 0);
  }
}

// Self and total of each function, {self, total, selfWas, was}, of what is shown.
function functionTotals(tree) {
  const count = profile.functions.count, column = () => new Float64Array(count);
  const sums = { self: column(), total: column(), selfWas: column(), was: column() };
  const keyOf = (i) => tree.key[i] < 0 ? -1 : functionOf(tree.key[i]);
  eachOnce(tree.count, tree.depth, keyOf, count, (i, fn, first) => {
    if (fn < 0)
      return;
    sums.self[fn] += tree.self[i];
    sums.total[fn] += first ? tree.total[i] : 0;
    if (!tree.was)
      return;
    sums.selfWas[fn] += tree.selfWas[i];
    sums.was[fn] += first ? tree.was[i] : 0;
  });
  return sums;
}

function addTo(map, key, value) {
  map.set(key, (map.get(key) || 0) + value);
}

function heaviest(map) {
  return [...map].filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

// Who calls a function and whom it calls: arrays of [function or group key, time], the largest first. Calls of the function by
// itself are not listed. The sum of the callers is the function's total.
function neighbours(tree, fn) {
  const callers = new Map(), callees = new Map();
  const keyOf = (node) => tree.key[node] < 0 ? tree.key[node] : functionOf(tree.key[node]);
  const chained = new Uint8Array(tree.count); // by box of the function: so are all boxes up to the outermost one
  let inside = 0; // the rows up to here are below the function
  for (let i = 1; i < tree.count; i++) {
    if (keyOf(i) !== fn)
      continue;
    if (i >= inside) {
      inside = tree.end[i];
      addTo(callers, keyOf(tree.parent[i]), tree.total[i]);
    } else if (!chained[tree.parent[i]]) {
      continue;
    }
    chained[i] = 1;
    for (let child = i + 1; child < tree.end[i]; child = tree.end[child])
      if (keyOf(child) !== fn)
        addTo(callees, keyOf(child), tree.total[child]);
  }
  return { callers: heaviest(callers), callees: heaviest(callees) };
}

// A number for each line of the functions that `wanted` takes, by frame: {numberOf, lines}; -1: another function.
function numberLines(wanted) {
  const { frames } = profile, lines = [], numbers = new Map();
  const numberOf = Int32Array.from({ length: frames.count }, (_, frame) => {
    const line = frames.line[frame];
    if (!wanted[frames.function[frame]])
      return -1;
    if (!numbers.has(line))
      numbers.set(line, lines.push(line) - 1);
    return numbers.get(line);
  });
  return { numberOf, lines };
}

// Self and total by line, of functions of one file that `wanted` takes: Map of line to {self, total}.
function lineTotals(tree, wanted) {
  const { nodes } = profile, { numberOf, lines } = numberLines(wanted), own = nodes.self[view.weight];
  const self = new Float64Array(lines.length), total = new Float64Array(lines.length);
  const keyOf = (i) => tree.at[i] >= 0 && tree.seen[i] === i ? numberOf[nodes.frame[i]] : -1;
  eachOnce(nodes.count, nodes.depth, keyOf, lines.length, (i, number, first) => {
    if (first)
      total[number] += tree.sum[i];
    const seen = tree.at[i] >= 0 ? tree.seen[i] : -1, ownNumber = seen >= 0 ? numberOf[nodes.frame[seen]] : -1;
    if (ownNumber >= 0)
      self[ownNumber] += own[i];
  });
  return new Map(lines.map((line, i) => [line, { self: self[i], total: total[i] }]).filter(([, sums]) => sums.total > 0));
}

// Calls between lines of a file and other functions: {callees: Map of line to Map of function to time, callers: Map of function
// to Map of caller to time}.
function lineCalls(tree, wanted) {
  const { nodes, frames } = profile, callees = new Map(), callers = new Map();
  const of = (map, key) => map.get(key) || map.set(key, new Map()).get(key);
  for (let i = 0; i < nodes.count; i++) {
    const above = nodes.parent[i];
    if (tree.at[i] < 0 || tree.seen[i] !== i || above < 0 || tree.seen[above] < 0)
      continue;
    const caller = frames.function[nodes.frame[tree.seen[above]]], callee = frames.function[nodes.frame[i]];
    if (caller === callee)
      continue;
    if (wanted[caller])
      addTo(of(callees, frames.line[nodes.frame[tree.seen[above]]]), callee, tree.sum[i]);
    if (wanted[callee])
      addTo(of(callers, callee), caller, tree.sum[i]);
  }
  return { callees, callers };
}
