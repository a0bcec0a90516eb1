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

// What is said of a function as a whole: by the comparison if it has the function and everything is shown, else by the model.
function judgeFunction(fn, by, was, now) {
  const row = profile.difference.verdicts.get(fn + ' ' + by);
  const whole = groupsChosen().length === profile.groups.length && !view.leftOut.size && !view.hidden.size;
  return row && whole ? { was: row.before, now: row.after, change: row.after - row.before, low: row.low, high: row.high,
    verdict: row.verdict } : judge(was, now);
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
