/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err.c - see err.h. libc only: fabric.so carries it into slurmstepd.
 */
#include "err.h"

#include <stdio.h>
#include <string.h>

int err_vset(struct err *err, int code, const char *fmt, va_list ap)
{
	if (err)
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
	return -code;
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(err, code, fmt, ap);
	va_end(ap);
	return -code;
}

int err_prefix(struct err *err, int rc, const char *fmt, ...)
{
	struct err whole;
	va_list ap;
	size_t used, room;

	if (!err)
		return rc;
	va_start(ap, fmt);
	vsnprintf(whole.text, sizeof(whole.text), fmt, ap);
	va_end(ap);
	used = strlen(whole.text);
	room = sizeof(whole.text) - used;
	if (room > 3)
		snprintf(whole.text + used, room, ": %.*s", (int)room - 3, err->text);
	*err = whole;
	return rc;
}
