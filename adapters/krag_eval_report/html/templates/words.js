// Words as the tokenizer "words" of krag_eval cuts them, and which of them two texts share.

// Scripts without spaces: each of their characters is a token. The same blocks as in krag_eval/documents/tokenizers.py.
const UNSPACED =
  "\\u0e00-\\u0e7f\\u0e80-\\u0eff\\u1000-\\u109f\\ua9e0-\\ua9ff\\uaa60-\\uaa7f\\u1780-\\u17ff\\u3005-\\u3007\\u3021-\\u3029" +
  "\\u3038-\\u303b\\u3041-\\u30ff\\u31f0-\\u31ff\\u2e80-\\u2fdf\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff" +
  "\\u{1aff0}-\\u{1b16f}\\u{20000}-\\u{3ffff}";
const TOKEN = new RegExp(`[${UNSPACED}](?<=[\\p{L}\\p{M}\\p{Nd}\\p{Nl}])|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{Nd}])+`, "gu");
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");
// Of these Thai, Lao, Burmese and Khmer are alphabets: two of their letters stand side by side everywhere.
const IS_ALPHABET = /^[\u0e00-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff]/u;
const IS_MARK = /^\p{M}/u;
const VARIATION = /[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;
// What may change together under NFKC: a letter with its marks, or the parts of Hangul syllables.
const UNIT = /[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]+\p{M}*|\P{M}[\p{M}\uff9e\uff9f]*|\p{M}+/gsu;
const HANGUL = /^[\uac00-\ud7a3]{2,}/;
// Vowel signs and the stretching line of Arabic, which most writers leave out.
const ARABIC_SIGNS = /[\u064b-\u065f\u0670\u0640]/g;
// A longer text shares its words as far as this.
const MOST_READ = 200_000;

// The tokens of a text: the word, and where it lies in the normal form.
function tokens(form) {
  return Array.from(form.matchAll(TOKEN), ({ 0: token, index }) => ({
    word: token.toLowerCase().replace(ARABIC_SIGNS, ""),
    start: index,
    end: index + token.length,
    isUnspaced: IS_UNSPACED.test(token),
  }));
}

// NFKC without variation selectors, and for each of its offsets what it was made of: [start, end] in the text.
function normalForm(text) {
  if (text.normalize("NFKC") === text && text.search(VARIATION) < 0) {
    return { form: text, source: (offset) => [offset, offset + 1] };
  }
  let form = "";
  const sources = [];
  for (const { 0: unit, index } of text.matchAll(UNIT)) {
    const changed = unit.normalize("NFKC").replace(VARIATION, "");
    form += changed;
    const isSame = changed.length === unit.length;
    for (let i = 0; i < changed.length; i += 1) {
      sources.push(isSame ? [index + i, index + i + 1] : [index, index + unit.length]);
    }
  }
  return { form, source: (offset) => sources[offset] };
}

// What texts have to share with another one: their words, how their Hangul words begin, and in scripts without spaces,
// where a single character says nothing, what stands side by side.
function vocabulary(texts) {
  const known = { words: new Set(), beginnings: new Set(), parts: new Set() };
  for (const text of texts) {
    const found = tokens(normalForm(text.slice(0, MOST_READ)).form);
    found.forEach((token, place) => {
      if (token.isUnspaced) {
        const part = partEndingAt(found, place);
        if (part !== null) known.parts.add(part.word);
      } else {
        known.words.add(token.word);
        const syllables = HANGUL.exec(token.word);
        for (let n = 2; syllables && n <= syllables[0].length; n += 1) known.beginnings.add(token.word.slice(0, n));
      }
    });
  }
  return known;
}

// Two neighbours, or three letters of an alphabet with their marks, that end at this place; null where there are fewer.
function partEndingAt(found, place) {
  let missing = IS_ALPHABET.test(found[place].word) ? 3 : 2;
  let word = "";
  for (let i = place; i >= 0 && found[i].isUnspaced && (i === place || found[i].end === found[i + 1].start); i -= 1) {
    word = found[i].word + word;
    if (!IS_MARK.test(found[i].word)) missing -= 1;
    if (missing === 0) return { word, start: found[i].start };
  }
  return null;
}

// Where a text shares words with a vocabulary: [start, end] pairs in order.
function sharedSpans(text, known) {
  const { form, source } = normalForm(text);
  const spans = [];
  const add = (start, end) => {
    const [from] = source(start);
    const [, to] = source(end - 1);
    const last = spans.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else spans.push([from, to]);
  };
  const found = tokens(form);
  found.forEach((token, place) => {
    if (token.isUnspaced) {
      const part = partEndingAt(found, place);
      if (part !== null && known.parts.has(part.word)) add(part.start, token.end);
    } else if (known.words.has(token.word)) {
      add(token.start, token.end);
    } else {
      const length = sharedBeginning(token.word, known.beginnings);
      if (length) add(token.start, token.start + length);
    }
  });
  return spans;
}

// How many syllables a Hangul word shares with the longest beginning that is known; Korean words change at their ends.
function sharedBeginning(word, beginnings) {
  const syllables = HANGUL.exec(word);
  for (let n = syllables ? syllables[0].length : 0; n >= 2; n -= 1) {
    if (beginnings.has(word.slice(0, n))) return n;
  }
  return 0;
}

// A text with what it shares marked, and words of the question, if `known` has their vocabulary, underlined.
function marked(text, known) {
  const fragment = document.createDocumentFragment();
  const asked = known?.asked ? sharedSpans(text, known.asked) : [];
  let done = 0;
  for (const [start, end] of known === null ? [] : sharedSpans(text, known)) {
    const mark = make("mark");
    fragment.append(underlined(text, done, start, asked), mark);
    mark.append(underlined(text, start, end, asked));
    done = end;
  }
  fragment.append(underlined(text, done, text.length, asked));
  return fragment;
}

function underlined(text, start, end, spans) {
  const fragment = document.createDocumentFragment();
  let done = start;
  for (const [from, to] of spans) {
    const [first, last] = [Math.max(from, start), Math.min(to, end)];
    if (first >= last) continue;
    fragment.append(text.slice(done, first), make("span", { class: "of-question" }, text.slice(first, last)));
    done = last;
  }
  fragment.append(text.slice(done, end));
  return fragment;
}

// The form in which texts are searched.
const searchable = (text) => text.normalize("NFKC").toLowerCase().replace(ARABIC_SIGNS, "");
