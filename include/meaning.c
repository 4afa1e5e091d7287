/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * meaning.c - see meaning.h: one table.
 */
#include "meaning.h"

#include <string.h>

static const struct {
	const char *name, *unit;
	enum domain domain;
} table[M_COUNT] = {
	[M_RX_BYTES] = { "rx_bytes", "bytes", DOMAIN_NETWORK },
	[M_TX_BYTES] = { "tx_bytes", "bytes", DOMAIN_NETWORK },
	[M_RETRANSMITS] = { "retransmits", "events", DOMAIN_NETWORK },
	[M_ERRORS] = { "errors", "events", DOMAIN_NETWORK },
	[M_LOSS] = { "loss", "packets", DOMAIN_NETWORK },
	[M_CONGESTION] = { "congestion", "events", DOMAIN_NETWORK },
	[M_READ_BYTES] = { "read_bytes", "bytes", DOMAIN_STORAGE },
	[M_WRITE_BYTES] = { "write_bytes", "bytes", DOMAIN_STORAGE },
	[M_IO_US] = { "io_us", "us", DOMAIN_STORAGE },
	[M_CPU_US] = { "cpu_us", "us", DOMAIN_COMPUTE },
	[M_STALL_CPU_US] = { "stall_cpu_us", "us", DOMAIN_COMPUTE },
	[M_STALL_IO_US] = { "stall_io_us", "us", DOMAIN_STORAGE },
	[M_STALL_MEMORY_US] = { "stall_memory_us", "us", DOMAIN_COMPUTE },
};

const char *meaning_name(enum meaning m)
{
	return table[m].name;
}

const char *meaning_unit(enum meaning m)
{
	return table[m].unit;
}

enum domain meaning_domain(enum meaning m)
{
	return table[m].domain;
}

bool meaning_parse(const char *name, enum meaning *m)
{
	for (int i = 0; i < M_COUNT; i++)
		if (!strcmp(table[i].name, name)) {
			*m = (enum meaning)i;
			return true;
		}
	return false;
}
