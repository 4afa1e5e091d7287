/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * meaning.h - the meanings that counters of all sources are mapped to.
 *
 * A source (a driver's hw_counters, a block device, the step's processes) keeps its own names;
 * records, verdicts and people see these. The table in meaning.c gives name, unit and domain.
 */
#ifndef FABRIC_MEANING_H
#define FABRIC_MEANING_H

#include <stdbool.h>

enum meaning {
	M_RX_BYTES,        /* fabric, bytes */
	M_TX_BYTES,        /* fabric, bytes */
	M_RETRANSMITS,     /* fabric, events: timeouts, sequence errors, NAKs */
	M_ERRORS,          /* fabric, events: symbol, link recovery, receive and local errors */
	M_LOSS,            /* fabric, packets discarded */
	M_CONGESTION,      /* fabric, events or ticks: xmit_wait, ECN marks, CNPs */
	M_READ_BYTES,      /* storage, bytes */
	M_WRITE_BYTES,     /* storage, bytes */
	M_IO_US,           /* storage, microseconds with I/O in flight */
	M_CPU_US,          /* compute, microseconds of CPU time of the step's processes */
	M_STALL_CPU_US,    /* compute, PSI some */
	M_STALL_IO_US,     /* storage, PSI some */
	M_STALL_MEMORY_US, /* compute, PSI some */
	M_COUNT
};

enum domain { DOMAIN_COMPUTE, DOMAIN_NETWORK, DOMAIN_STORAGE, DOMAIN_DATA_LOADING };

const char *meaning_name(enum meaning m); /* "rx_bytes" */
const char *meaning_unit(enum meaning m); /* "bytes" */
enum domain meaning_domain(enum meaning m);
bool meaning_parse(const char *name, enum meaning *m);

#endif
