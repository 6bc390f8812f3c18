import assert from "node:assert/strict";
import { test } from "node:test";

import { slug, slugs } from "../slug.js";

test("words are joined", () => {
  assert.equal(slug("Hello, big  world!"), "hello-big-world");
});

test("accents are dropped", () => {
  assert.equal(slug("Crème brûlée"), "creme-brulee");
});

test("the second of two is numbered 2", () => {
  assert.deepEqual(slugs(["News", "news", "NEWS"]), ["news", "news-2", "news-3"]);
});
