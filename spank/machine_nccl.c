/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_nccl.c - see machine_nccl.h.
 *
 * The file is a tree of elements: system, cpu (a NUMA node), pci (a switch or a device, nested),
 * gpu, and nic with its nets. It is read tag by tag with a stack of the open ones. NCCL climbs two
 * components of a path at a time, so one pci element is what PCI has as two bridges: the port above
 * the device, and, where something hangs below it, the switch itself. Both are made here, so that
 * distances are counted as in a real tree. What names no device by an element is taken by its
 * class. The element and attribute names are those of NCCL's src/graph/xml.cc.
 */
#include "machine_nccl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "text.h"

#define MAX_OPEN 64
#define MAX_PCI 16384
#define VALUE 64
#define MAX_MBIT 10000000 /* a net's speed beyond this is in another unit */

/* ---- tags ---- */

struct tag {
	const char *name;
	size_t name_len;
	const char *attributes; /* up to the closing bracket */
	size_t length;
	bool closes, empty;
};

struct scan {
	const char *at, *end;
};

static bool begins(const struct scan *s, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(s->end - s->at) >= len && memcmp(s->at, word, len) == 0;
}

/* Moves behind the next word; false: it does not come. */
static bool skip_past(struct scan *s, const char *word)
{
	const char *found = memmem(s->at, (size_t)(s->end - s->at), word, strlen(word));

	s->at = found ? found + strlen(word) : s->end;
	return found;
}

/* 1: the next tag; 0: there is none; -EPROTO: it has no end. Comments and the like are passed. */
static int next_tag(struct scan *s, struct tag *t)
{
	const char *open;

	for (;;) {
		open = memchr(s->at, '<', (size_t)(s->end - s->at));
		if (!open)
			return 0;
		s->at = open;
		if (begins(s, "<!--")) {
			if (!skip_past(s, "-->"))
				return -EPROTO;
		} else if (begins(s, "<?") || begins(s, "<!")) {
			if (!skip_past(s, ">"))
				return -EPROTO;
		} else {
			break;
		}
	}
	if (!skip_past(s, ">"))
		return -EPROTO;
	*t = (struct tag){ .closes = open[1] == '/' };
	t->name = open + 1 + t->closes;
	t->length = (size_t)(s->at - 1 - t->name);
	if (t->length > 0 && t->name[t->length - 1] == '/') {
		t->empty = true;
		t->length--;
	}
	while (t->name_len < t->length && !strchr(" \t\r\n", t->name[t->name_len]))
		t->name_len++;
	t->attributes = t->name + t->name_len;
	t->length -= t->name_len;
	return 1;
}

static bool tag_is(const struct tag *t, const char *name)
{
	return t->name_len == strlen(name) && memcmp(t->name, name, t->name_len) == 0;
}

/* The value of key="..."; false: it is not there, or longer than can be meant. */
static bool attribute(const struct tag *t, const char *key, char value[VALUE])
{
	struct scan s = { t->attributes, t->attributes + t->length };
	const char *name, *start;
	size_t name_len, len;

	while (s.at < s.end) {
		s.at += strspn(s.at, " \t\r\n");
		name = s.at;
		if (!skip_past(&s, "=\""))
			return false;
		name_len = (size_t)(s.at - 2 - name);
		start = s.at;
		if (!skip_past(&s, "\""))
			return false;
		len = (size_t)(s.at - 1 - start);
		if (name_len != strlen(key) || memcmp(name, key, name_len) != 0)
			continue;
		if (len >= VALUE || memchr(start, '\0', len))
			return false;
		memcpy(value, start, len);
		value[len] = '\0';
		return true;
	}
	return false;
}

/* A decimal number up to max; -1: none. */
static int64_t number(const struct tag *t, const char *key, uint64_t max)
{
	char value[VALUE];
	uint64_t n;

	return attribute(t, key, value) && u64_parse(value, max, &n) ? (int64_t)n : -1;
}

/* "0x15b3"; 0: none. */
static uint64_t hexadecimal(const struct tag *t, const char *key)
{
	char value[VALUE];

	return attribute(t, key, value) ? strtoull(value, NULL, 16) : 0;
}

/* ---- the open elements ---- */

enum kind { OTHER, SYSTEM, CPU, PCI, NIC };

struct element {
	enum kind kind;
	const char *name;
	size_t name_len;
	size_t pci;    /* PCI: index into the list; MACHINE_NONE: none is open */
	size_t bridge; /* what is inside hangs below it; MACHINE_NONE: not made, or none */
	int numa;
};

/* What is known of list->devices[i] beyond the list. */
struct extra {
	bool bridge; /* something hangs below it */
	bool gpu;    /* it has gpu elements */
	uint64_t id;
};

struct reader {
	struct machine *machine;
	struct machine_pci_list *list;
	struct extra *extras;
	size_t room;
	bool nets; /* the file names NICs */
	struct element open[MAX_OPEN];
	size_t depth;
};

static size_t add_bridge(struct reader *r, struct machine_bridge bridge)
{
	struct machine *m = r->machine;
	struct machine_bridge *more;

	more = reallocarray(m->bridges, m->bridge_count + 1, sizeof(*more));
	if (!more)
		return MACHINE_NONE;
	m->bridges = more;
	more[m->bridge_count] = bridge;
	return m->bridge_count++;
}

/* The bridge of an element that something hangs below: a switch, made when it is first needed. */
static int open_switch(struct reader *r, struct element *e)
{
	const struct machine_pci *pci;

	if (e->kind != PCI || e->bridge != MACHINE_NONE)
		return 0;
	pci = &r->list->devices[e->pci];
	r->extras[e->pci].bridge = true;
	e->bridge = add_bridge(r, (struct machine_bridge){ .parent = pci->place.bridge,
							   .placed = true,
							   .bdf = pci->place.bdf,
							   .id = r->extras[e->pci].id });
	return e->bridge == MACHINE_NONE ? -ENOMEM : 0;
}

static int make_room(struct reader *r)
{
	size_t more = r->room ? r->room * 2 : 64;
	struct machine_pci *devices;
	struct extra *extras;

	if (r->list->count < r->room)
		return 0;
	if (r->list->count >= MAX_PCI)
		return -E2BIG;
	devices = reallocarray(r->list->devices, more, sizeof(*devices));
	if (!devices)
		return -ENOMEM;
	r->list->devices = devices;
	extras = reallocarray(r->extras, more, sizeof(*extras));
	if (!extras)
		return -ENOMEM;
	r->extras = extras;
	r->room = more;
	return 0;
}

static int read_pci(struct reader *r, const struct tag *t, struct element *e)
{
	struct element *above = &r->open[r->depth - 1];
	struct machine_pci pci = { .place = { .numa = e->numa, .package = -1 } };
	char bdf[VALUE];
	int rc;

	if (!attribute(t, "busid", bdf) || !machine_bdf_parse(bdf, &pci.place.bdf))
		return -EINVAL;
	rc = open_switch(r, above);
	rc = rc ? rc : make_room(r);
	if (rc < 0)
		return rc;
	pci.place.bridge = add_bridge(r, (struct machine_bridge){ .parent = above->bridge });
	if (pci.place.bridge == MACHINE_NONE)
		return -ENOMEM;
	pci.class = (uint16_t)(hexadecimal(t, "class") >> 8);
	pci.vendor = (uint16_t)hexadecimal(t, "vendor");
	pci.device = (uint16_t)hexadecimal(t, "device");
	e->pci = r->list->count;
	r->extras[e->pci] = (struct extra){ .id = machine_bridge_id(
						    pci.vendor, pci.device,
						    (uint16_t)hexadecimal(t, "subsystem_vendor"),
						    (uint16_t)hexadecimal(t, "subsystem_device")) };
	r->list->devices[r->list->count++] = pci;
	return 0;
}

static int read_gpu(struct reader *r, const struct tag *t, const struct element *above)
{
	struct machine_gpu *g;

	if (above->kind != PCI)
		return -EINVAL;
	g = machine_add_gpu(r->machine, &r->list->devices[above->pci]);
	if (!g)
		return -ENOMEM;
	g->index = (int)number(t, "dev", 65535);
	r->extras[above->pci].gpu = true;
	return 0;
}

/* The number of a device's port: NCCL's own counts the devices of a card as well. */
static int port_number(const struct machine *m, const char *device)
{
	int port = 1;

	for (size_t i = 0; i < m->port_count; i++)
		port += !strcmp(m->ports[i].device, device);
	return port;
}

static struct machine_port *add_port(struct reader *r, const char *device, size_t pci, int numa)
{
	struct machine_port *p =
		machine_add_port(r->machine, device, port_number(r->machine, device));

	if (!p)
		return NULL;
	p->place.numa = numa;
	if (pci == MACHINE_NONE)
		return p;
	p->place = r->list->devices[pci].place;
	p->placed = true;
	p->vendor = r->list->devices[pci].vendor;
	p->model = r->list->devices[pci].device;
	if (p->vendor == VENDOR_HPE && !(p->layer = strdup(MAP_SLINGSHOT)))
		return NULL;
	return p;
}

/* Port 0 is a network interface, of which NCCL makes sockets: no HCA. */
static int read_net(struct reader *r, const struct tag *t, const struct element *above)
{
	int64_t mbit = number(t, "speed", MAX_MBIT);
	struct machine_port *p;
	char name[VALUE];

	r->nets = true;
	if (above->kind != NIC || !attribute(t, "name", name) || number(t, "port", 65535) == 0)
		return 0;
	p = add_port(r, name, above->pci, above->numa);
	if (!p)
		return -ENOMEM;
	p->rate_bps = mbit > 0 ? (uint64_t)mbit * 1000000 : 0;
	p->system_guid =
		__builtin_bswap64(hexadecimal(t, "guid")); /* printed as it lies in memory */
	return 0;
}

static int open_tag(struct reader *r, const struct tag *t)
{
	struct element e = { .name = t->name,
			     .name_len = t->name_len,
			     .pci = MACHINE_NONE,
			     .bridge = MACHINE_NONE,
			     .numa = -1 };
	int rc = 0;

	if (r->depth == MAX_OPEN)
		return -E2BIG;
	if (r->depth > 0) {
		const struct element *above = &r->open[r->depth - 1];

		e.numa = above->numa;
		if (tag_is(t, "cpu") && above->kind == SYSTEM) {
			e.kind = CPU;
			e.numa = (int)number(t, "numaid", INT32_MAX);
		} else if (tag_is(t, "pci") && (above->kind == CPU || above->kind == PCI)) {
			e.kind = PCI;
			rc = read_pci(r, t, &e);
		} else if (tag_is(t, "nic") && (above->kind == CPU || above->kind == PCI)) {
			e.kind = NIC;
			e.pci = above->pci;
		} else if (tag_is(t, "gpu")) {
			rc = read_gpu(r, t, above);
		} else if (tag_is(t, "net")) {
			rc = read_net(r, t, above);
		}
	} else if (tag_is(t, "system")) {
		e.kind = SYSTEM;
	}
	if (rc == 0 && !t->empty)
		r->open[r->depth++] = e;
	return rc;
}

static int close_tag(struct reader *r, const struct tag *t)
{
	const struct element *e = r->depth > 0 ? &r->open[r->depth - 1] : NULL;

	if (!e || e->name_len != t->name_len || memcmp(e->name, t->name, t->name_len) != 0)
		return -EPROTO;
	r->depth--;
	return 0;
}

static int read_tags(struct reader *r, struct scan *s)
{
	struct tag t;
	int rc;

	while ((rc = next_tag(s, &t)) == 1) {
		rc = t.closes ? close_tag(r, &t) : open_tag(r, &t);
		if (rc < 0)
			return rc;
	}
	return rc == 0 && r->depth > 0 ? -EPROTO : rc;
}

/* ---- what only classes tell ---- */

/* Clouds leave the vendor out; without it these classes are GPUs. */
static bool is_gpu(const struct machine_pci *pci)
{
	if (pci->vendor)
		return machine_pci_is_gpu(pci);
	return pci->class == 0x0302 || pci->class == 0x0380 || pci->class == 0x1200;
}

static bool is_nic(const struct machine_pci *pci)
{
	return pci->class >> 8 == 0x02 || pci->class == 0x0c06;
}

/* A file that names NICs names all that count; in one that does not, the address stands for it. */
static int read_class(struct reader *r, size_t i)
{
	const struct machine_pci *pci = &r->list->devices[i];
	char *bdf;
	int rc = 0;

	if (is_gpu(pci) && !r->extras[i].gpu)
		return machine_add_gpu(r->machine, pci) ? 0 : -ENOMEM;
	if (!is_nic(pci) || r->nets)
		return 0;
	bdf = machine_bdf_text(&pci->place.bdf);
	if (!bdf || !add_port(r, bdf, i, pci->place.numa))
		rc = -ENOMEM;
	free(bdf);
	return rc;
}

static int finish(struct reader *r)
{
	struct machine *m = r->machine;
	size_t kept = 0;

	for (size_t i = 0; i < r->list->count; i++) {
		int rc = r->extras[i].bridge ? 0 : read_class(r, i);

		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < r->list->count; i++)
		if (!r->extras[i].bridge)
			r->list->devices[kept++] = r->list->devices[i];
	r->list->count = kept;
	if (m->gpu_count + m->port_count == 0 && kept > 0) {
		m->remark = io_format("the file names no GPU and no NIC: it can only say where "
				      "those of a machine are (fabric.conf: pci_tree)");
		return m->remark ? 0 : -ENOMEM;
	}
	return 0;
}

/* ---- the file ---- */

static int first_tag(const char *text, size_t len, struct tag *t)
{
	struct scan s = { text, text + len };

	return next_tag(&s, t);
}

bool machine_nccl_looks_so(const char *text)
{
	struct tag t;

	return first_tag(text, strlen(text), &t) == 1 && tag_is(&t, "system");
}

static int line_of(const char *text, const char *at)
{
	int line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

/* Version 1 is NCCL's, 2 RCCL's with xgmi in it. */
static int check_version(const char *text, size_t len, const char *source, struct err *err)
{
	char version[VALUE] = "";
	struct tag t;

	if (first_tag(text, len, &t) != 1 || !tag_is(&t, "system"))
		return err_set(err, EPROTO, "%s: no topology of NCCL", source);
	if (attribute(&t, "version", version) && strcmp(version, "1") != 0 &&
	    strcmp(version, "2") != 0)
		return err_set(err, EPROTO,
			       "%s: NCCL's topology, version \"%.8s\": only 1 and 2 are known",
			       source, version);
	return 0;
}

static int say(int rc, const char *text, const struct scan *s, const char *source, struct err *err)
{
	const char *why = strerror(-rc);

	if (rc == 0)
		return 0;
	if (rc == -EPROTO)
		why = "its elements do not fit together: was it cut?";
	else if (rc == -EINVAL)
		why = "a pci element has no busid, or a gpu element stands outside of one";
	return err_set(err, -rc, "%s:%d: %s", source, line_of(text, s->at), why);
}

int machine_nccl_xml(struct machine *m, const char *text, size_t len, const char *source,
		     struct machine_pci_list *list, struct err *err)
{
	struct scan s = { text, text + len };
	struct reader *r = calloc(1, sizeof(*r));
	int rc = r ? check_version(text, len, source, err)
		   : err_set(err, ENOMEM, "%s: out of memory", source);

	if (rc == 0) {
		r->machine = m;
		r->list = list;
		rc = read_tags(r, &s);
		rc = rc ? rc : finish(r);
		rc = say(rc, text, &s, source, err);
	}
	if (r)
		free(r->extras);
	free(r);
	return rc;
}
