/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notes.c - see notes.h.
 */
#include "notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

void notes_add(struct notes *n, const char *fmt, ...)
{
	char raw[401], safe[401];
	va_list ap;

	n->total++;
	if (n->kept == NOTES_KEPT)
		return;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	n->lines[n->kept] = strdup(text_printable(raw, safe, sizeof(safe)));
	if (n->lines[n->kept])
		n->kept++;
}

void notes_clear(struct notes *n)
{
	for (size_t i = 0; i < n->kept; i++)
		free(n->lines[i]);
	memset(n, 0, sizeof(*n));
}
