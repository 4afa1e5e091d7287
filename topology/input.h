/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * input.h - recorded files, of whatever flavour each is, as one subnet.
 */
#ifndef TOPOLOGY_INPUT_H
#define TOPOLOGY_INPUT_H

#include "subnet.h"

#define INPUT_MAX_BYTES (256u << 20) /* of one file */

struct input;

/* names, or NULL, replace what nodes say of themselves; they must outlive in. */
struct input *input_new(const struct namemap *names);
void input_free(struct input *in);

/*
 * Finds out what the len bytes of text are: text of ibnetdiscover or ibdiagnet, libibnetdisc's
 * cache or lldpcli's JSON. source is for sentences, and the name of JSON's machine where it has
 * none (see lldp.h). A negative errno and err when it is none of these or can't be understood at
 * all.
 */
int input_add(struct input *in, const char *text, size_t len, const char *source, struct err *err);

/* The finished subnet of all that was added; frees in. NULL and err without memory. */
struct subnet *input_finish(struct input *in, struct err *err);

#endif
