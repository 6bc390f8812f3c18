/** The last part of a page's address, from its title. */
export function slug(title) {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** Slugs of several titles, no two the same. */
export function slugs(titles) {
  const seen = new Map();
  return titles.map((title) => {
    const found = slug(title);
    const count = seen.get(found) ?? 0;
    seen.set(found, count + 1);
    return count === 0 ? found : `${found}-${count}`;
  });
}
