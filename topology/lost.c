/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lost.c - see lost.h.
 */
#include "lost.h"

#include <infiniband/umad.h>
/* mad.h after umad.h: it uses its types */
#include <infiniband/mad.h>
#include <stdlib.h>
#include <string.h>

/* The number at *at, which moves behind it; false when there is none up to max. */
static bool read_number(const char **at, int base, unsigned long max, unsigned *value)
{
	char *end;
	unsigned long n;

	if (**at < '0' || **at > '9')
		return false;
	n = strtoul(*at, &end, base);
	*at = end;
	*value = (unsigned)n;
	return n <= max;
}

static bool read_path(const char *at, struct lost_query *query)
{
	unsigned port;

	for (query->hops = 0; query->hops <= LOST_HOPS_MAX; query->hops++) {
		if (!read_number(&at, 10, UINT8_MAX, &port))
			return false;
		query->path[query->hops] = (uint8_t)port;
		if (*at++ != ',')
			return query->path[0] == 0;
	}
	return false;
}

bool lost_parse(const char *line, struct lost_query *query)
{
	const char *path = strstr(line, "dlid "), *attribute = strstr(line, " Attr 0x");

	if (!path || !attribute || path > attribute || !strstr(attribute, "bad status"))
		return false;
	path = strstr(path, "; ");
	if (!path || path > attribute || !read_path(path + 2, query))
		return false;
	attribute += strlen(" Attr ");
	return read_number(&attribute, 16, UINT16_MAX, &query->attribute) && *attribute++ == ':' &&
	       read_number(&attribute, 10, UINT32_MAX, &query->modifier);
}

const char *lost_name(const struct lost_query *query)
{
	switch (query->attribute) {
	case IB_ATTR_NODE_DESC:
		return "NodeDescription";
	case IB_ATTR_NODE_INFO:
		return "NodeInfo";
	case IB_ATTR_SWITCH_INFO:
		return "SwitchInfo";
	case IB_ATTR_PORT_INFO:
		return "PortInfo";
	default:
		return NULL;
	}
}
