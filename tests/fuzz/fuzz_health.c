/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_health.c - health.json: what is read is written in its canonical form, which stays as it is.
 */
#include "fuzz.h"
#include "health.h"

static void run(const char *data, size_t len)
{
	struct err err = { "" };
	struct health *h = health_parse(data, len, "fuzz", &err), *again;
	char *text, *same;

	must(h || err.text[0]);
	if (!h)
		return;
	text = fuzz_have(health_text(h));
	again = fuzz_have(health_parse(text, strlen(text), "fuzz", &err));
	same = fuzz_have(health_text(again));
	must(again->count == h->count && fuzz_same(text, same));
	health_free(again);
	health_free(h);
	free(same);
	free(text);
}

const struct fuzz_target fuzz_health = { "health", "contract/health.json", run };
