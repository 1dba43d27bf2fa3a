// The page's texts in the user's language, and numbers as the language writes them.

import { entries, language } from "/texts.js";

const rules = new Intl.PluralRules(language);

export { language };
export const number = (n) => n.toLocaleString(language);
export const figures = (n, digits = 4) => n.toLocaleString(language, { maximumSignificantDigits: digits });

export function t(key, values = {}) {
  const entry = entries[key];
  const form = typeof entry === "string" ? entry : entry[rules.select(values.n) === "one" ? "one" : "other"];
  return form.replace(/\{(\w+)\}/g, (_, name) => (typeof values[name] === "number" ? number(values[name]) : values[name]));
}

export const percent = (share) => (share > 0 && share < 0.01 ? `${figures(100 * share, 1)} %` : `${Math.round(100 * share)} %`);

// A chance is never certain.
export function likely(share) {
  if (share > 0.99 || share < 0.01) return t("results.surely", { share: t(share > 0.99 ? "percent.above" : "percent.below") });
  return t("results.likely", { share: `${Math.round(100 * share)} %` });
}
