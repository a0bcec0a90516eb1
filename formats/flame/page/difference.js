// SPDX-License-Identifier: MIT
// The comparison of two sides: what is distinguishable from noise (schemas/flame.md has the model).

const VERDICTS = { grew: 'grew', shrank: 'shrank', same: 'not distinguishable' };
const SIGNS = { grew: '+', shrank: '−', same: '' };

function judge(was, now) {
  const noise = profile.difference.noise, change = now - was;
  const error = Math.sqrt(noise.before * was + noise.after * now + (noise.spread * (was + now) / 2) ** 2);
  const low = change - noise.z * error, high = change + noise.z * error;
  return { was, now, change, low, high, verdict: low > 0 ? 'grew' : high < 0 ? 'shrank' : 'same' };
}

let everythingShown = true; // no group and no frame is left out

function noteWhatIsShown() {
  everythingShown = groupsChosen().length === profile.groups.length && !view.leftOut.size && !view.hidden.size;
}

// What the comparison says of a function as a whole, by self or by total; undefined when it does not, or when a part of the
// function is not shown.
function rowOf(fn, by) {
  return everythingShown ? profile.difference.verdicts.get(fn + ' ' + by) : undefined;
}

// What had next to nothing before has a verdict without bounds: the bounds are then those of the model, as far as they do not
// contradict the verdict.
function judgedRow(row) {
  if (row.low === null) {
    const modelled = judge(row.before, row.after), low = row.verdict === 'grew' ? Math.max : Math.min;
    return { ...modelled, low: low(0, modelled.low), high: Math.max(0, modelled.high), verdict: row.verdict };
  }
  return { was: row.before, now: row.after, change: row.after - row.before, low: row.low, high: row.high, verdict: row.verdict };
}

function judgeFunction(fn, by, was, now) {
  const row = rowOf(fn, by);
  return row ? judgedRow(row) : judge(was, now);
}

// Judges a box. A box that is all of a function has the verdict of the function.
function judgeBox(tree, node) {
  const was = tree.was[node], now = tree.total[node], key = tree.key[node];
  const near = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(was, now);
  for (const by of key >= 0 ? ['total', 'self'] : []) {
    const row = rowOf(functionOf(key), by);
    if (row && near(row.before, was) && near(row.after, now))
      return judgedRow(row);
  }
  return judge(was, now);
}

function isGone(tree, node) {
  return tree.was !== null && tree.total[node] === 0;
}

function isNew(tree, node) {
  return tree.was !== null && tree.was[node] === 0;
}

function changeText(judged, unit) {
  return signed(amount(judged.change, unit), judged.change);
}

function intervalText(judged, unit) {
  return signed(amount(judged.low, unit), judged.low) + ' … ' + signed(amount(judged.high, unit), judged.high);
}

function verdictText(judged) {
  return judged.now === 0 && judged.verdict === 'shrank' ? 'gone' : judged.was === 0 && judged.verdict === 'grew' ? 'new' :
    VERDICTS[judged.verdict];
}
