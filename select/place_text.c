/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_text.c - classes by name, and a placement in words; see place.h.
 *
 * The sentences carry numbers only: names of units and pods are the caller's.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "place.h"
#include "text.h"

static const char segments[] = "segments=";

static const char *const names[] = {
	"any", "compact", "same-leaf", "same-pod", "spread", "segments"
};

const char *place_class_name(enum place_class class)
{
	return names[class];
}

bool place_class_parse(const char *text, struct place_request *request)
{
	uint64_t size;

	for (int i = PLACE_ANY; i < PLACE_SEGMENTS; i++)
		if (strcmp(text, names[i]) == 0) {
			request->class = (enum place_class)i;
			return true;
		}
	if (strncmp(text, segments, sizeof(segments) - 1) != 0 ||
	    !u64_parse(text + sizeof(segments) - 1, PLACE_NODES_MAX, &size) || size == 0)
		return false;
	request->class = PLACE_SEGMENTS;
	request->segment = (uint32_t)size;
	return true;
}

struct words {
	char *text;
	size_t used, size;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->text + w->used, w->size - w->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		w->used += (size_t)n < w->size - w->used ? (size_t)n : w->size - w->used - 1;
}

static void say_group(struct words *w, const char *what, uint32_t used, uint32_t now,
		      uint32_t fewest)
{
	say(w, "%s: %u", what, used);
	if (now)
		say(w, ", fewest with what is free: %u", now);
	if (fewest)
		say(w, ", fewest possible: %u", fewest);
	say(w, "\n");
}

static void say_given_up(struct words *w, const struct place_request *request,
			 const struct place_result *r)
{
	if (r->given_up & PLACE_GAVE_CLASS)
		say(w, "given up: class %s, what is free has no room for it\n",
		    place_class_name(request->class));
	if (r->given_up & PLACE_GAVE_HEALTH)
		say(w, "given up: healthy nodes only, too few of them are free\n");
	if (r->given_up & PLACE_GAVE_FABRIC)
		say(w, "given up: one connected fabric, no part of it has enough free nodes\n");
	if (r->units_now && r->units > r->units_now && request->class == PLACE_COMPACT)
		say(w, "given up: the fewest units, for %s\n",
		    r->suspects_avoided ? "healthy nodes or fewer pods" : "fewer pods");
}

char *place_explain(const struct place_request *request, const struct place_result *result,
		    char *text, size_t size)
{
	struct words w = { text, 0, size };

	if (size == 0)
		return text;
	text[0] = '\0';
	say_group(&w, "units", result->units, result->units_now, result->units_fewest);
	say_group(&w, "pods", result->pods, result->pods_now, result->pods_fewest);
	say(&w, "suspect nodes: %u used, %u free ones left out\n", result->suspects,
	    result->suspects_avoided);
	if (result->unknown)
		say(&w, "nodes that the fabric doesn't know: %u\n", result->unknown);
	say_given_up(&w, request, result);
	return text;
}
