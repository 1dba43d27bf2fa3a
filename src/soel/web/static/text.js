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

// As `soel.text.percent` has it: one number reads the same everywhere.
export function percent(share) {
  const value = 100 * share;
  if (value > 99 && value < 100) return "> 99 %";
  if (value > 0 && value < 0.01) return `< ${number(0.01)} %`;
  return value >= 1 || value <= 0 ? `${Math.round(value)} %` : `${figures(value, 2)} %`;
}

// As `soel.text.Texts.chance` has it: a chance is never certain.
export const chance = (share) => (share > 0.99 ? "> 99 %" : share < 0.01 ? "< 1 %" : percent(share));
