/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.c - the fabric as it answers now; see live.h.
 *
 * libibnetdisc returns a fabric without an error when some nodes did not answer. The signs are: a
 * switch port that could not be read (a NULL in the array), a port that is up with nothing behind
 * it, an empty description, and what it says on standard error about queries. Each becomes a
 * sentence in `missing`; a lost query does so only when none of the others shows the hole it left.
 * A CA's other ports are NULL in a good discovery too: a CA does not forward, so each of its ports
 * is seen through its own cable.
 */
#include "live.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
/* mad.h after umad.h: it uses its types */
#include <infiniband/ibnetdisc.h>
#include <infiniband/mad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "io.h"
#include "lost.h"
#include "overhear.h"
#include "portinfo.h"

#define PHYS_LINK_UP 5 /* as in PortInfo.PortPhysicalState */

struct local_port {
	char device[UMAD_CA_NAME_LEN];
	int number;
	uint64_t guid;
};

struct local_ports {
	struct local_port *ports;
	size_t count;
	struct notes lost; /* queries */
};

static int add_local(struct local_ports *list, const umad_port_t *port)
{
	struct local_port *more = reallocarray(list->ports, list->count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	list->ports = more;
	memset(&more[list->count], 0, sizeof(*more));
	snprintf(more[list->count].device, UMAD_CA_NAME_LEN, "%.*s", UMAD_CA_NAME_LEN - 1,
		 port->ca_name);
	more[list->count].number = port->portnum;
	more[list->count].guid = be64toh(port->port_guid);
	list->count++;
	return 0;
}

/* Up and InfiniBand. "Active" is not asked for: packets pass before a subnet manager has come. */
static bool is_usable(const umad_port_t *port)
{
	return port->phys_state == PHYS_LINK_UP && port->state >= LINK_INIT &&
	       strcmp(port->link_layer, "Ethernet") != 0;
}

static int find_local(struct local_ports *list)
{
	char(*names)[UMAD_CA_NAME_LEN] = calloc(UMAD_MAX_DEVICES, sizeof(*names));
	int rc = names ? 0 : -ENOMEM;
	int n = names ? umad_get_cas_names(names, UMAD_MAX_DEVICES) : 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		umad_ca_t ca;
		if (umad_get_ca(names[i], &ca) < 0)
			continue;
		for (int p = 0; rc == 0 && p <= ca.numports && p < UMAD_CA_MAX_PORTS; p++)
			if (ca.ports[p] && is_usable(ca.ports[p]))
				rc = add_local(list, ca.ports[p]);
		umad_release_ca(&ca);
	}
	free(names);
	return rc;
}

static struct fabric_wire wire_of(ibnd_port_t *port)
{
	ibnd_node_t *node = port->node;
	ibnd_port_t *caps = node->type == IB_NODE_SWITCH ? node->ports[0] : port;

	return portinfo_wire(port->info, caps ? caps->info : NULL, port->ext_info);
}

static int take_port(struct subnet *s, ibnd_node_t *node, int number)
{
	ibnd_port_t *port = node->ports[number], *far = port ? port->remoteport : NULL;
	unsigned long long guid = node->guid;
	struct fabric_wire wire;
	int rc = 0;

	if (!port) {
		if (node->type == IB_NODE_SWITCH)
			notes_add(&s->missing, "port %d of switch 0x%016llx (%s) could not be read",
				  number, guid, node->nodedesc);
		return 0;
	}
	if (node->type != IB_NODE_SWITCH && port->guid)
		rc = subnet_add_port(s, node->guid, number, port->guid);
	if (rc < 0)
		return rc;
	if (!far || !far->node)
		return node->type == IB_NODE_SWITCH
			       ? subnet_add_bare(s, (struct subnet_end){ node->guid, number },
						 portinfo_is_up(port->info))
			       : 0;
	wire = wire_of(port);
	return subnet_add_cable(s, (struct subnet_end){ node->guid, number },
				(struct subnet_end){ far->node->guid, far->portnum }, &wire, false);
}

static int take_node(struct subnet *s, ibnd_node_t *node)
{
	char description[IB_SMP_DATA_SIZE + 1];
	struct subnet_node copy = {
		.guid = node->guid,
		.kind = node->type == IB_NODE_SWITCH   ? SUBNET_SWITCH
			: node->type == IB_NODE_ROUTER ? SUBNET_ROUTER
						       : SUBNET_CA,
		.description = description,
		.ports = node->numports,
		.described = true,
	};
	int rc;

	memcpy(description, node->nodedesc, IB_SMP_DATA_SIZE);
	description[IB_SMP_DATA_SIZE] = '\0';
	mad_decode_field(node->info, IB_NODE_SYSTEM_GUID_F, &copy.system_guid);
	copy.vendor = mad_get_field(node->info, 0, IB_NODE_VENDORID_F);
	copy.device = mad_get_field(node->info, 0, IB_NODE_DEVID_F);
	rc = subnet_add_node(s, &copy);
	for (int i = 1; rc == 0 && i <= node->numports; i++)
		rc = take_port(s, node, i);
	return rc;
}

/* True when an earlier discovery reached this local port: it is in the same subnet. */
static bool is_reached(const struct subnet *s, uint64_t guid)
{
	for (size_t i = 0; guid && i < s->port_count; i++)
		if (s->ports[i].guid == guid)
			return true;
	return false;
}

/* Adds the local port to the list of those used. */
static int name_source(char **source, const struct local_port *port)
{
	char *more = *source ? io_format("%s, %s:%d", *source, port->device, port->number)
			     : io_format("%s:%d", port->device, port->number);

	if (!more)
		return -ENOMEM;
	free(*source);
	*source = more;
	return 0;
}

/* The node that a directed route leads to, or the last one on it that answered; *left: hops behind
 * it.
 */
static ibnd_node_t *walk(ibnd_fabric_t *found, const struct lost_query *query, size_t *left)
{
	ibnd_node_t *node = found->from_node;

	for (*left = query->hops; *left > 0; --*left) {
		unsigned number = query->path[query->hops - *left + 1];
		ibnd_port_t *port = node && (int)number <= node->numports && node->ports
					    ? node->ports[number]
					    : NULL;
		if (!port || !port->remoteport || !port->remoteport->node)
			break;
		node = port->remoteport->node;
	}
	return node;
}

static void tell_lost(struct notes *lost, ibnd_fabric_t *found, const struct lost_query *query)
{
	const char *name = lost_name(query);
	size_t left;
	ibnd_node_t *node = walk(found, query, &left);

	if (!name || !node)
		return;
	if (left)
		notes_add(lost, "nobody answered the query for %s behind port %d of 0x%016llx (%s)",
			  name, query->path[query->hops - left + 1], (unsigned long long)node->guid,
			  node->nodedesc);
	else if (query->attribute == IB_ATTR_PORT_INFO)
		notes_add(lost, "0x%016llx (%s) did not answer the query for %s of port %u",
			  (unsigned long long)node->guid, node->nodedesc, name, query->modifier);
	else
		notes_add(lost, "0x%016llx (%s) did not answer the query for %s",
			  (unsigned long long)node->guid, node->nodedesc, name);
}

/* What libibnetdisc said, line by line. */
static void take_said(char *said, ibnd_fabric_t *found, struct notes *lost, struct notes *warnings)
{
	char *rest = NULL;

	for (char *line = strtok_r(said, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct lost_query query;
		if (!lost_parse(line, &query))
			notes_add(warnings, "%s", line);
		else if (found)
			tell_lost(lost, found, &query);
	}
}

static int take_found(struct subnet *s, ibnd_fabric_t *found, const struct local_port *port)
{
	ibnd_node_t *from = found->from_node;
	ibnd_port_t *own = from && found->from_portnum <= from->numports
				   ? from->ports[found->from_portnum]
				   : NULL;
	int rc = 0;

	if (!own || !own->remoteport)
		notes_add(&s->missing, "what is behind this host's %s:%d did not answer",
			  port->device, port->number);
	for (ibnd_node_t *node = found->nodes; rc == 0 && node; node = node->next)
		rc = take_node(s, node);
	return rc;
}

static int discover_through(struct subnet *s, struct local_port *port,
			    const struct live_options *options, struct notes *lost)
{
	struct ibnd_config config = {
		.max_smps = options->max_smps,
		.timeout_ms = options->timeout_ms,
		.retries = 3,
		.flags = IBND_CONFIG_MLX_EPI, /* FDR10 */
	};
	char *what = io_format("discovering through %s:%d", port->device, port->number), *said;
	struct overhear *overhear = what ? overhear_begin(what) : NULL;
	ibnd_fabric_t *found = ibnd_discover_fabric(port->device, port->number, NULL, &config);
	int rc = 0;

	said = overhear_end(overhear);
	free(what);
	if (!said)
		rc = -ENOMEM;
	else
		take_said(said, found, lost, &s->warnings);
	if (!found)
		notes_add(&s->missing, "the discovery through %s:%d failed", port->device,
			  port->number);
	else if (rc == 0)
		rc = take_found(s, found, port);
	if (found && rc == 0 && options->counters)
		rc = counters_read(s, found, port->device, port->number, options->timeout_ms);
	if (found)
		ibnd_destroy_fabric(found);
	free(said);
	return rc;
}

/* Queries that nobody answered, unless what they left open is told already. */
static void add_lost(struct subnet *s, const struct notes *lost)
{
	if (s->missing.total)
		return;
	for (size_t i = 0; i < lost->kept; i++)
		notes_add(&s->missing, "%s", lost->lines[i]);
	s->missing.total += lost->total - lost->kept;
}

static int discover_all(struct subnet *s, struct local_ports *list,
			const struct live_options *options, char **source, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < list->count; i++) {
		if (is_reached(s, list->ports[i].guid))
			continue;
		rc = name_source(source, &list->ports[i]);
		if (rc == 0)
			rc = discover_through(s, &list->ports[i], options, &list->lost);
	}
	if (rc == 0)
		rc = subnet_finish(s);
	if (rc == 0)
		add_lost(s, &list->lost);
	if (rc < 0)
		return err_set(err, ENOMEM, "out of memory");
	if (list->count == 0)
		return err_set(err, ENODEV,
			       "no InfiniBand port of this host is up; run this where one is, or "
			       "give a file with --from");
	if (s->node_count == 0)
		return err_set(err, EIO,
			       "the discovery through %s failed%s%.200s; it needs access to "
			       "/dev/infiniband/umad* (root)",
			       *source, s->warnings.kept ? ": " : "",
			       s->warnings.kept ? s->warnings.lines[s->warnings.kept - 1] : "");
	return 0;
}

struct subnet *live_discover(const struct live_options *options, char **source, struct err *err)
{
	struct local_ports list = { 0 };
	struct subnet *s = subnet_new();
	int rc;

	*source = NULL;
	if (!s || umad_init() < 0) {
		subnet_free(s);
		err_set(err, ENODEV, "libibumad can't be initialised");
		return NULL;
	}
	s->names = options->names;
	s->was = options->was;
	rc = find_local(&list);
	if (rc == 0)
		rc = discover_all(s, &list, options, source, err);
	else
		err_set(err, -rc, "out of memory");
	umad_done();
	free(list.ports);
	notes_clear(&list.lost);
	if (rc == 0)
		return s;
	subnet_free(s);
	free(*source);
	*source = NULL;
	return NULL;
}
