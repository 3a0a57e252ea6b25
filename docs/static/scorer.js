// How the site's search orders its results: the guide first, records of the project last.
var Scorer = {
  score: ([page, , , , score]) => {
    if (page === "docs/guide/every-symbol-and-usage-pattern") return score + 150;
    if (/^migration_guide$|^docs\/guide\//.test(page)) return score + 200;
    if (page.startsWith("docs/how-to/")) return score + 100;
    if (/^docs\/v[12]-|^[A-Z_]+$/.test(page)) return score - 100;
    return score;
  },
  // Sphinx's own numbers.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
