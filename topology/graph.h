/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * graph.h - a picture of the fabric as text: for graphviz, or as one HTML file that needs nothing.
 */
#ifndef TOPOLOGY_GRAPH_H
#define TOPOLOGY_GRAPH_H

#include <stddef.h>

#include "err.h"
#include "io.h"
#include "picture.h"

#define GRAPH_FAULTS 100 /* sentences that are shown in the list; all are at their boxes */

/*
 * title says what the picture is of. malloc'ed; the same bytes for the same fabric. NULL, errno and
 * err without memory.
 */
char *graph_dot(const struct picture *p, const char *title, struct err *err);
char *graph_html(const struct picture *p, const char *title, struct err *err);

/* How many of count boxes of that size stand in a row, for all to be aspect times as wide as high.
 */
size_t graph_columns(size_t count, double width, double height, double aspect);

/* Hands line() what stands in a box, each line cut to `most` bytes; number 0 is its name. */
void graph_lines(const struct picture *p, size_t box, size_t most, struct io_text *out,
		 void (*line)(struct io_text *out, const char *text, size_t number));

#endif
