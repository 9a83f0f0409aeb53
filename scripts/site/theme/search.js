// SPDX-License-Identifier: Apache-2.0
// Search over `searchIndex` (search/index.js), without a server: it works from file:// too.
'use strict';

const SHOWN_MAX = 20;
const input = document.getElementById('query');
const list = document.getElementById('results');
const base = document.body.dataset.base;
let chosen = 0;

// How well an entry fits; 0 if one of the words does not occur in it. Titles count most.
function score(entry, words) {
  const title = entry.title.toLowerCase();
  const text = entry.text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const inTitle = title.indexOf(word);
    if (inTitle >= 0) {
      const starts = inTitle === 0 || /\W/.test(title[inTitle - 1]);
      sum += starts ? 40 + 40 * word.length / title.length : 15;
    } else if (text.includes(word)) {
      sum += 2 + Math.min(8, text.split(word).length);
    } else {
      return 0;
    }
  }
  return sum;
}

// The part of the text around the first word.
function excerpt(text, words) {
  const found = words.map(word => text.toLowerCase().indexOf(word)).filter(at => at >= 0);
  const start = found.length > 0 ? Math.max(0, Math.min(...found) - 40) : 0;
  return (start > 0 ? '…' : '') + text.slice(start, start + 130);
}

function item(entry, words) {
  const line = document.createElement('li');
  const link = line.appendChild(document.createElement('a'));
  link.href = base + '/' + entry.location;
  link.append(entry.title);
  const more = link.appendChild(document.createElement('small'));
  more.textContent = (entry.page ? entry.page + ': ' : '') + excerpt(entry.text, words);
  return line;
}

function choose(index) {
  if (list.children.length === 0) return;
  chosen = (index + list.children.length) % list.children.length;
  [...list.children].forEach((line, i) => line.classList.toggle('chosen', i === chosen));
  list.children[chosen].scrollIntoView({block: 'nearest'});
}

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  list.hidden = words.length === 0;
  const found = searchIndex.map(entry => ({entry, rank: score(entry, words)}))
      .filter(one => one.rank > 0).sort((a, b) => b.rank - a.rank).slice(0, SHOWN_MAX);
  list.replaceChildren(...found.map(one => item(one.entry, words)));
  if (found.length > 0) {
    choose(0);
  } else {
    list.textContent = 'Nothing found.';
  }
}

input.addEventListener('input', search);
input.addEventListener('keydown', event => {
  if (event.key === 'ArrowDown') choose(chosen + 1);
  else if (event.key === 'ArrowUp') choose(chosen - 1);
  else if (event.key === 'Enter') list.querySelector('.chosen a')?.click();
  else if (event.key === 'Escape') input.value = '', search();
  else return;
  event.preventDefault();
});
document.addEventListener('keydown', event => {
  if (event.key !== '/' || event.target === input) return;
  event.preventDefault();
  input.focus();
});
document.addEventListener('click', event => {
  if (!event.target.closest('.search')) list.hidden = true;
});
const asked = new URLSearchParams(location.search).get('q');
if (asked) {
  input.value = asked;
  search();
}
