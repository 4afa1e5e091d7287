/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counters.c - see counters.h.
 *
 * One packet at a time: the management processor of a switch is slow, and nothing is gained by
 * making it busy. A node that did not answer once is not asked about its other ports, and after
 * some such nodes in a row nobody is: each costs a timeout.
 */
#include "counters.h"

#include <errno.h>
#include <stdlib.h>

#include "io.h"
#include "overhear.h"

#define SILENT_MAX 20
#define RETRIES 2

struct field {
	enum MAD_FIELDS field;
	enum fabric_counter counter;
	unsigned bytes; /* in one unit of the counter */
};

static const struct field basic[] = {
	{ IB_PC_ERR_SYM_F, COUNTER_SYMBOL_ERRORS, 1 },
	{ IB_PC_LINK_RECOVERS_F, COUNTER_LINK_RECOVERIES, 1 },
	{ IB_PC_LINK_DOWNED_F, COUNTER_LINK_DOWNED, 1 },
	{ IB_PC_ERR_RCV_F, COUNTER_RCV_ERRORS, 1 },
	{ IB_PC_ERR_PHYSRCV_F, COUNTER_RCV_REMOTE_PHYSICAL, 1 },
	{ IB_PC_ERR_SWITCH_REL_F, COUNTER_RCV_SWITCH_RELAY, 1 },
	{ IB_PC_XMT_DISCARDS_F, COUNTER_XMIT_DISCARDS, 1 },
	{ IB_PC_ERR_XMTCONSTR_F, COUNTER_XMIT_CONSTRAINT, 1 },
	{ IB_PC_ERR_RCVCONSTR_F, COUNTER_RCV_CONSTRAINT, 1 },
	{ IB_PC_ERR_LOCALINTEG_F, COUNTER_LOCAL_INTEGRITY, 1 },
	{ IB_PC_ERR_EXCESS_OVR_F, COUNTER_BUFFER_OVERRUNS, 1 },
	{ IB_PC_VL15_DROPPED_F, COUNTER_VL15_DROPPED, 1 },
	{ IB_PC_XMT_WAIT_F, COUNTER_XMIT_WAIT, 1 },
};

/* Data is counted in words of four bytes. */
static const struct field extended[] = {
	{ IB_PC_EXT_XMT_BYTES_F, COUNTER_XMIT_BYTES, 4 },
	{ IB_PC_EXT_RCV_BYTES_F, COUNTER_RCV_BYTES, 4 },
	{ IB_PC_EXT_XMT_PKTS_F, COUNTER_XMIT_PACKETS, 1 },
	{ IB_PC_EXT_RCV_PKTS_F, COUNTER_RCV_PACKETS, 1 },
};

/* False when nobody answers. */
static bool ask(struct ibmad_port *mad, ib_portid_t *to, int port, unsigned timeout_ms, unsigned id,
		const struct field *fields, size_t count, struct fabric_counts *c)
{
	uint8_t answer[1024] = { 0 };

	if (!pma_query_via(answer, to, port, (int)timeout_ms, id, mad))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint64_t value = id == IB_GSI_PORT_COUNTERS_EXT
					 ? mad_get_field64(answer, 0, fields[i].field)
					 : mad_get_field(answer, 0, fields[i].field);
		if (value <= INT64_MAX / fields[i].bytes)
			c->value[fields[i].counter] = value * fields[i].bytes;
	}
	return true;
}

bool counters_errors(struct ibmad_port *mad, int lid, int port, unsigned timeout_ms,
		     struct fabric_counts *c)
{
	ib_portid_t to = { 0 };

	*c = (struct fabric_counts){ .port = port };
	for (size_t i = 0; i < FABRIC_COUNTERS; i++)
		c->value[i] = UINT64_MAX;
	ib_portid_set(&to, lid, 0, 0);
	return ask(mad, &to, port, timeout_ms, IB_GSI_PORT_COUNTERS, basic,
		   sizeof(basic) / sizeof(basic[0]), c);
}

/* 1: it was read, 0: it did not answer. */
static int read_port(struct subnet *s, struct ibmad_port *mad, const ibnd_port_t *port, int lid,
		     unsigned timeout_ms)
{
	int64_t time_ns = io_now_ns();
	struct fabric_counts c;
	ib_portid_t to = { 0 };

	if (!counters_errors(mad, lid, port->portnum, timeout_ms, &c))
		return 0;
	c.node_guid = port->node->guid;
	c.time_ns = time_ns;
	ib_portid_set(&to, lid, 0, 0);
	/* Not every port has these; the others stand without them. */
	ask(mad, &to, port->portnum, timeout_ms, IB_GSI_PORT_COUNTERS_EXT, extended,
	    sizeof(extended) / sizeof(extended[0]), &c);
	return subnet_add_counts(s, &c) < 0 ? -ENOMEM : 1;
}

/* 1: it answered, or there was nothing to ask; 0: it did not; -ENOMEM. */
static int read_node(struct subnet *s, struct ibmad_port *mad, const ibnd_node_t *node,
		     unsigned timeout_ms, size_t *without_lid)
{
	int rc = 1;

	for (int i = 1; rc == 1 && i <= node->numports; i++) {
		const ibnd_port_t *port = node->ports[i];
		int lid = node->type == IB_NODE_SWITCH ? node->smalid : port ? port->base_lid : 0;
		if (!port || !port->remoteport)
			continue;
		if (lid)
			rc = read_port(s, mad, port, lid, timeout_ms);
		else
			++*without_lid;
	}
	return rc;
}

static int read_all(struct subnet *s, struct ibmad_port *mad, const ibnd_fabric_t *found,
		    unsigned timeout_ms)
{
	size_t without_lid = 0, silent = 0, in_a_row = 0;
	int rc = 1;

	for (const ibnd_node_t *node = found->nodes; rc >= 0 && node && in_a_row < SILENT_MAX;
	     node = node->next) {
		rc = read_node(s, mad, node, timeout_ms, &without_lid);
		in_a_row = rc ? 0 : in_a_row + 1;
		silent += rc == 0;
	}
	if (without_lid)
		notes_add(&s->warnings,
			  "%zu ports have no LID, so that their counters can't be read; is a "
			  "subnet manager running?",
			  without_lid);
	if (silent)
		notes_add(&s->warnings, "%zu nodes did not answer for their counters%s", silent,
			  in_a_row == SILENT_MAX ? "; the rest was not asked" : "");
	return rc < 0 ? rc : 0;
}

int counters_read(struct subnet *s, const ibnd_fabric_t *found, const char *device, int port,
		  unsigned timeout_ms)
{
	int classes[] = { IB_PERFORMANCE_CLASS }, rc = 0;
	char *name = io_format("%s", device), *said;
	char *what = io_format("reading counters through %s:%d", device, port);
	struct ibmad_port *mad = name ? mad_rpc_open_port(name, port, classes, 1) : NULL;
	struct overhear *overhear = what ? overhear_begin(what) : NULL;

	if (mad) {
		mad_rpc_set_retries(mad, RETRIES);
		rc = read_all(s, mad, found, timeout_ms);
		mad_rpc_close_port(mad);
	} else {
		notes_add(&s->warnings, "%s:%d can't be opened to read counters", device, port);
	}
	said = overhear_end(overhear); /* of each port that does not answer; it is counted */
	free(said);
	free(what);
	free(name);
	return rc;
}
