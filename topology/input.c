/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * input.c - see input.h.
 */
#include "input.h"

#include <errno.h>
#include <stdlib.h>

#include "cache.h"
#include "ibnetdiscover.h"
#include "lldp.h"

struct input {
	struct subnet *s;
	struct lldp *lldp; /* NULL: none yet */
};

struct input *input_new(const struct namemap *names)
{
	struct input *in = calloc(1, sizeof(*in));

	if (in && !(in->s = subnet_new())) {
		free(in);
		return NULL;
	}
	if (in)
		in->s->names = names;
	return in;
}

void input_free(struct input *in)
{
	if (!in)
		return;
	subnet_free(in->s);
	lldp_free(in->lldp);
	free(in);
}

int input_add(struct input *in, const char *text, size_t len, const char *source, struct err *err)
{
	if (cache_is(text, len))
		return cache_read(in->s, text, len, source, err);
	if (!lldp_is(text, len))
		return ibnetdiscover_read(in->s, text, len, source, err);
	if (!in->lldp && !(in->lldp = lldp_new()))
		return err_set(err, ENOMEM, "%s: out of memory", source);
	return lldp_add(in->lldp, text, len, source, err);
}

struct subnet *input_finish(struct input *in, struct err *err)
{
	struct subnet *s = in->s;
	int rc = in->lldp ? lldp_finish(in->lldp, s) : 0;

	if (rc == 0)
		rc = subnet_finish(s);
	if (rc < 0)
		err_set(err, -rc, "out of memory");
	else
		in->s = NULL;
	input_free(in);
	return rc < 0 ? NULL : s;
}
