// Ranks the pages of the site for what somebody typed, in any language: the worker of the search asks this before lunr.
//
// Words are compared by their stems, Korean, Chinese and Japanese by pairs of characters. A page scores by the share of the
// question that it answers (BM25 over its titles, texts and the words of also.toml), and by how well its best heading, or
// phrase of also.toml, is the question.
function ranking(docs) {
  const WEIGHTS = { also: 6, title: 4, heading: 3, text: 1 };
  const STOP = new Set(
    ("a an and are as at be by can do does for from get has have how i if in is it me my of on or so that the there this to " +
      "use using want was we what when where which why will with you your " +
      "и в во на с со из к у о от для по а но не ли что как это мне мой моя мои есть быть где когда почему нужно можно " +
      "어떻 떻게 하는 하나 나요 인가 가요 되나 는지 에서 에는 으로 하기 해야 하면 있나 싶어 무엇 " +
      "如何 怎么 么办 什么 为什 怎样 可以 一个 我的 吗").split(" ")
  );
  const TOKEN = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]+|\p{sc=Hangul}+|[\p{L}\p{M}\p{N}_]+/gu;
  const PAIRED = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u;
  const LOOKED_UP = /^(?:reference\/|CHANGELOG|CONTRIBUTING)/; // these say everything in passing
  const ENDING = /(?:ations?|ating|ated|ates?|ators?|ings?|ers?|ed|es|s|e|al|y)$/;

  function stem(word) {
    if (/^\p{sc=Cyrillic}/u.test(word)) return word.length > 5 ? word.slice(0, 5) : word.replace(/[аеёиоуыэюяйь]$/, "");
    if (word.length > 4) {
      const shorter = word.replace(ENDING, "");
      word = (shorter.length > 3 ? shorter : word).slice(0, 6);
    }
    return word;
  }

  function features(text) {
    const found = [];
    const plain = text.normalize("NFKC").replace(/<[^>]+>/g, " ").replace(/&\w+;/g, " ");
    for (const [token] of plain.replace(/(\p{sc=Han})(?=\p{sc=Hangul})/gu, "$1 ").matchAll(TOKEN)) {
      if (PAIRED.test(token)) {
        if (token.length === 1) found.push(token);
        for (let i = 0; i + 1 < token.length; i++) found.push(token.slice(i, i + 2));
        continue;
      }
      const parts = token.split(/_+|(?<=\p{Ll})(?=\p{Lu})/u).filter(Boolean);
      if (parts.length > 1) found.push(token.toLowerCase());
      found.push(...parts.map((part) => part.toLowerCase()).filter((part) => !STOP.has(part)).map(stem));
    }
    return found.filter((feature) => !STOP.has(feature));
  }

  const pages = new Map();
  for (const doc of docs) {
    const path = doc.location.split("#")[0];
    if (!pages.has(path)) pages.set(path, { counts: new Map(), length: 0, phrases: [] });
    const page = pages.get(path);
    const isHeading = doc.location.includes("#");
    const also = (doc.also || "").split("\n").filter(Boolean);
    const add = (text, weight) => {
      const found = features(text || "");
      for (const feature of found) page.counts.set(feature, (page.counts.get(feature) || 0) + weight);
      page.length += found.length * weight;
      return new Set(found);
    };
    page.phrases.push([add(doc.title, isHeading ? WEIGHTS.heading : WEIGHTS.title), doc.location]);
    for (const phrase of also) page.phrases.push([add(phrase, WEIGHTS.also), doc.location]);
    add(doc.text, WEIGHTS.text);
  }
  const frequency = new Map();
  let total = 0;
  for (const page of pages.values()) {
    total += page.length;
    for (const feature of page.counts.keys()) frequency.set(feature, (frequency.get(feature) || 0) + 1);
  }
  const mean = total / (pages.size || 1);
  const rarity = (feature) => Math.log(1 + (pages.size + 0.5) / ((frequency.get(feature) || 0) + 0.5));
  const sum = (of) => [...of].reduce((so, feature) => so + rarity(feature), 0);

  // The words of the site that a word which is on no page may be, one letter or two swapped ones apart.
  function near(word) {
    if (word.length < 5 || !/^[a-z]+$/.test(word)) return [word];
    const found = [...frequency.keys()].filter((known) => {
      if (known[0] !== word[0] || Math.abs(known.length - word.length) > 1) return false;
      let start = 0, end = 0;
      while (start < Math.min(word.length, known.length) && word[start] === known[start]) start++;
      while (end < Math.min(word.length, known.length) - start && word.at(-1 - end) === known.at(-1 - end)) end++;
      const [one, other] = [word.slice(start, word.length - end), known.slice(start, known.length - end)];
      return (one.length < 2 && other.length < 2) || (one.length === 2 && one[1] + one[0] === other);
    });
    return found.length ? found : [word];
  }

  function scores(question) {
    const asked = new Set(features(question).flatMap((word) => (frequency.has(word) ? [word] : near(word))));
    const whole = sum(asked);
    const found = [];
    for (const [path, page] of pages) {
      let score = 0;
      for (const feature of asked) {
        const count = page.counts.get(feature) || 0;
        score += (rarity(feature) * count) / (count + 2 * (0.5 + (0.5 * page.length) / mean));
      }
      if (!score) continue;
      let best = 0, place = path;
      for (const [phrase, location] of page.phrases) {
        const shared = sum([...phrase].filter((feature) => asked.has(feature)));
        const alike = shared && (2 * shared) / (whole + sum(phrase));
        if (alike > best) [best, place] = [alike, location];
      }
      const share = LOOKED_UP.test(path) && best < 0.95 ? 0.7 : 1;
      found.push({ path, place, score: (score / whole + best) * share });
    }
    return found.sort((one, other) => other.score - one.score);
  }

  // Puts the best pages before what lunr found; `entries` are the documents by location.
  function order(question, items, entries) {
    const groups = new Map(items.map((item) => [item[0].location.split("#")[0], item]));
    const found = scores(question);
    const good = found.filter((page) => page.score >= 0.4 * found[0].score).slice(0, 10);
    const first = good.map(({ path, place, score }) => {
      const group = groups.get(path) || [{ ...entries.get(path), score, terms: {} }];
      groups.delete(path);
      const isShown = group.some((entry) => entry.location === place) || !entries.has(place);
      return isShown ? group : [...group, { ...entries.get(place), score, terms: {} }];
    });
    return [...first, ...groups.values()];
  }
  return { scores, order };
}
