// SPDX-License-Identifier: MIT
// What the person has chosen. The view stands in the fragment of the address too, so a link leads to the same view.

const view = {
  tab: 'graph', weight: '', groups: null, apart: true, inverted: false, flame: false, lines: false, side: 'after',
  leftOut: new Set(), hidden: new Set(), search: '', regular: false, zoom: 0, picked: -1, file: -1,
};

const SWITCHES = [['i', 'inverted'], ['f', 'flame'], ['l', 'lines'], ['r', 'regular']];

// Numbers with points between them; an absent text has none.
function numbersOf(text, limit) {
  return (text || '').split('.').filter(Boolean).map(Number).filter((number) => Number.isInteger(number) && number >= 0 && number < limit);
}

function groupsChosen() {
  return profile.groups.map((_, i) => i).filter((i) => view.groups[i]);
}

function weightNow() {
  return profile.weights.find((weight) => weight.name === view.weight);
}

function knownWeights() {
  return profile.weights.filter((weight) => weight.known);
}

function sumOfGroups(weight, groups = profile.groups) {
  return groups.reduce((sum, group) => sum + (group.sums[weight] || 0), 0);
}

function firstWeight() {
  const known = knownWeights(), named = (name) => known.find((weight) => weight.name === name);
  const cpu = named('cpu');
  return (named(profile.first) || (cpu && sumOfGroups('cpu') > 0 ? cpu : named('wall') || known[0])).name;
}

function fragment() {
  const said = new URLSearchParams(), chosen = groupsChosen();
  if (view.tab !== 'graph')
    said.set('tab', view.tab);
  if (view.weight !== firstWeight())
    said.set('w', view.weight);
  if (chosen.length < profile.groups.length)
    said.set('g', chosen.join('.'));
  if (!view.apart)
    said.set('merged', '1');
  for (const [letter, name] of SWITCHES)
    if (view[name])
      said.set(letter, '1');
  if (view.side === 'before')
    said.set('side', 'before');
  if (view.leftOut.size)
    said.set('out', [...view.leftOut].join('.'));
  if (view.hidden.size)
    said.set('hide', [...view.hidden].join('.'));
  if (view.search)
    said.set('s', view.search);
  if (view.zoom)
    said.set('z', view.zoom);
  if (view.picked >= 0)
    said.set('fn', view.picked);
  if (view.file >= 0)
    said.set('file', view.file);
  return said.toString();
}

function readFragment(text) {
  const said = new URLSearchParams(text), one = (name, limit) => numbersOf(said.get(name), limit)[0];
  view.tab = ['graph', 'table', 'sources'].includes(said.get('tab')) ? said.get('tab') : 'graph';
  view.weight = knownWeights().some((weight) => weight.name === said.get('w')) ? said.get('w') : firstWeight();
  view.groups = new Uint8Array(profile.groups.length).fill(said.has('g') ? 0 : 1);
  for (const group of numbersOf(said.get('g'), profile.groups.length))
    view.groups[group] = 1;
  view.apart = !said.has('merged');
  for (const [letter, name] of SWITCHES)
    view[name] = said.has(letter);
  view.side = said.get('side') === 'before' ? 'before' : 'after';
  view.leftOut = new Set(numbersOf(said.get('out'), profile.kinds.length));
  view.hidden = new Set(numbersOf(said.get('hide'), profile.functions.count));
  view.search = said.get('s') || '';
  view.zoom = one('z', 1e9) || 0;
  view.picked = one('fn', profile.functions.count) ?? -1;
  view.file = one('file', profile.strings.length) ?? -1;
}

let noting = 0;

function writeAddress(step) {
  clearTimeout(noting);
  noting = 0;
  const address = '#' + fragment();
  if (address === (location.hash || '#'))
    return;
  try {
    history[step ? 'pushState' : 'replaceState'](null, '', address);
  } catch {
    // A page that is shown inside of another page may not change its address.
  }
}

// Writes the view into the address. `step`: at once, and the browser's Back returns to the view before. Else a little later,
// because browsers refuse many changes of the address in a short time.
function noteView(step = false) {
  if (step)
    writeAddress(true);
  else if (!noting)
    noting = setTimeout(() => writeAddress(false), 200);
}
