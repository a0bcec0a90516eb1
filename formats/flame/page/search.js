// SPDX-License-Identifier: MIT
// Search: which functions match, and how much of the whole is in stacks with a match.

const EVERYTHING_MATCHES = { wanted: () => true, wrong: '' };

// What tests a text: plain text takes capitals as they are if it has some; a wrong expression matches nothing and says why.
function matcher(text, regular) {
  if (!text)
    return EVERYTHING_MATCHES;
  const exact = /\p{Lu}/u.test(text);
  if (!regular)
    return { wanted: exact ? (label) => label.includes(text) : (label) => label.toLowerCase().includes(text), wrong: '' };
  try {
    const expression = new RegExp(text, exact ? 'u' : 'iu');
    return { wanted: (label) => expression.test(label), wrong: '' };
  } catch (error) {
    return { wanted: () => false, wrong: error.message };
  }
}

// Matches of the search in the view: {functions: a byte for each, groups, wrong}; null without a search.
function findMatches() {
  if (!view.search)
    return null;
  const { wanted, wrong } = matcher(view.search, view.regular);
  const functions = Uint8Array.from({ length: profile.functions.count }, (_, fn) => wanted(nameOf(fn)) || wanted(fileOf(fn)));
  const groups = Uint8Array.from(profile.groups, (group) => wanted(group.name));
  return { functions, groups, wrong };
}

function isMatch(matches, key) {
  return key === ROOT ? false : key < 0 ? matches.groups[-2 - key] === 1 : matches.functions[functionOf(key)] === 1;
}

// The sum of the stacks that have a match, each once.
function matchedTotal(tree, matches) {
  let sum = 0;
  for (let i = 1; i < tree.count;) {
    if (isMatch(matches, tree.key[i])) {
      sum += tree.total[i];
      i = tree.end[i];
    } else {
      i++;
    }
  }
  return sum;
}
