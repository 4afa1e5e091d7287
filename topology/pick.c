/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pick.c - see pick.h.
 */
#include "pick.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "text.h"

static const char *const keys[] = {
	[PICK_DEVICE] = "device", [PICK_HOST] = "host",	  [PICK_SWITCH] = "switch",
	[PICK_PLANE] = "plane",	  [PICK_SPEED] = "speed", [PICK_PKEY] = "pkey"
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))
#define GIGA UINT64_C(1000000000)

int pick_parse(struct pick *pick, const char *text, bool skip, struct err *err)
{
	const char *equals = strchr(text, '=');
	size_t key = 0, len = equals ? (size_t)(equals - text) : 0;

	while (key < KEYS && (strlen(keys[key]) != len || memcmp(text, keys[key], len) != 0))
		key++;
	if (!equals || !equals[1] || key == KEYS)
		return err_set(
			err, EINVAL,
			"\"%.80s\" is no choice of ports; write device=, host=, switch= and a "
			"pattern, plane=NUMBER or speed=GBPS",
			text);
	*pick = (struct pick){ (enum pick_key)key, skip, equals + 1, 0 };
	if (key != PICK_PLANE && key != PICK_SPEED)
		return 0;
	if (!u64_parse(pick->pattern, 1000000, &pick->number))
		return err_set(err, EINVAL, "\"%.80s\": %s= takes a number", text, keys[key]);
	if (key == PICK_SPEED)
		pick->number *= GIGA;
	return 0;
}

static bool matches(const struct pick *pick, const char *text)
{
	return text && fnmatch(pick->pattern, text, 0) == 0;
}

static bool meets(const struct pick *pick, const struct partitions *partitions,
		  const struct fabric *f, const struct fabric_port *port)
{
	switch (pick->key) {
	case PICK_DEVICE:
		return matches(pick, port->device);
	case PICK_HOST:
		return port->host != FABRIC_NONE && matches(pick, f->hosts[port->host].name);
	case PICK_SWITCH:
		return port->sw != FABRIC_NONE && matches(pick, f->switches[port->sw].name);
	case PICK_PLANE:
		return port->sw != FABRIC_NONE && f->switches[port->sw].plane >= 0 &&
		       (uint64_t)f->switches[port->sw].plane == pick->number;
	case PICK_SPEED:
		return port->wire.speed_bps && port->wire.speed_bps >= pick->number;
	case PICK_PKEY:
		return partitions && partitions_hold(partitions, port->guid, pick->pattern);
	}
	return false;
}

bool picks_have(const struct pick *picks, size_t count, enum pick_key key)
{
	for (size_t i = 0; i < count; i++)
		if (picks[i].key == key)
			return true;
	return false;
}

bool picks_count(const struct pick *picks, size_t count, const struct partitions *partitions,
		 const struct fabric *f, const struct fabric_port *port)
{
	bool asked[KEYS] = { false }, met[KEYS] = { false };

	for (size_t i = 0; i < count; i++) {
		bool does = meets(&picks[i], partitions, f, port);
		if (picks[i].skip && does)
			return false;
		if (picks[i].skip)
			continue;
		asked[picks[i].key] = true;
		met[picks[i].key] |= does;
	}
	return memcmp(asked, met, sizeof(asked)) == 0;
}
