/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lldp.c - see lldp.h.
 *
 * lldpcli has two spellings (lldpcli(8)): in json0 everything is a list and values are objects; in
 * json an interface and a chassis are keys, lists of one are collapsed, and a chassis without a
 * name stands without its key. Both are read by the same few functions.
 *
 * Who is a switch: first by the names of its ports (swp1, Ethernet1/1), because hosts with a bridge
 * of their own announce that capability too; then by capability; else who was only heard of. What
 * two machines say of one cable is joined when either names the other's port, and each port has the
 * name its own machine uses.
 */
#include "lldp.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "json.h"
#include "names.h"
#include "text.h"

#define TEXT_MAX_BYTES 255 /* of any LLDP string: IEEE 802.1AB */
#define PORT_MAX 254

struct machine {	   /* one thing that was said about one machine; merged by key in the end */
	char *key;	   /* short name, or the chassis id of one without a name */
	uint64_t mac_guid; /* of its chassis' MAC address, 0 unknown */
	bool named, own;   /* has a name; its own words are there */
	bool forwards;	   /* says that it is a bridge or router */
	bool switch_port, nic, seen_by_host; /* what find_switches() has found */
	bool is_switch;
};

struct sighting { /* what `local` saw on its port */
	char *local, *port;
	char *peer, *peer_port; /* peer_port: an interface's name, or the id it sent */
	size_t from, to;	/* machines, in the end */
	bool used;
};

struct lldp {
	struct machine *machines;
	size_t machine_count, machine_room;
	struct sighting *sightings;
	size_t sighting_count, sighting_room;
	struct notes warnings;
};

struct lldp *lldp_new(void)
{
	return calloc(1, sizeof(struct lldp));
}

void lldp_free(struct lldp *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->machine_count; i++)
		free(l->machines[i].key);
	for (size_t i = 0; i < l->sighting_count; i++) {
		free(l->sightings[i].local);
		free(l->sightings[i].port);
		free(l->sightings[i].peer);
		free(l->sightings[i].peer_port);
	}
	free(l->machines);
	free(l->sightings);
	notes_clear(&l->warnings);
	free(l);
}

bool lldp_is(const char *text, size_t len)
{
	size_t i = 0;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		i = 3;
	while (i < len && isspace((unsigned char)text[i]))
		i++;
	return i < len && text[i] == '{';
}

/* Reading both spellings. */

/* An element of a list, or the thing itself where there is no list. */
static json_object *item(json_object *value, size_t i)
{
	if (json_object_is_type(value, json_type_array))
		return i < json_object_array_length(value) ? json_object_array_get_idx(value, i)
							   : NULL;
	return i == 0 ? value : NULL;
}

static json_object *get(json_object *object, const char *key)
{
	json_object *value = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &value);
	return value;
}

/* "x", {"value": "x"} or a list that begins with one of these; NULL: no text. */
static const char *text_of(json_object *value)
{
	value = item(value, 0);
	if (json_object_is_type(value, json_type_object))
		value = get(value, "value");
	if (!json_object_is_type(value, json_type_string) ||
	    json_object_get_string_len(value) > TEXT_MAX_BYTES)
		return NULL;
	return json_object_get_string(value);
}

static const char *text_at(json_object *object, const char *key)
{
	return text_of(get(object, key));
}

/* "82:78:67:18:c1:b6" as EUI-64, 0 for anything else (IEEE: ff:fe in the middle). */
static uint64_t guid_of_mac(const char *text)
{
	unsigned b[6];
	char end;

	if (strlen(text) != 17 || sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%c", &b[0], &b[1], &b[2],
					 &b[3], &b[4], &b[5], &end) != 6)
		return 0;
	return (uint64_t)b[0] << 56 | (uint64_t)b[1] << 48 | (uint64_t)b[2] << 40 |
	       UINT64_C(0xfffe) << 24 | (uint64_t)b[3] << 16 | (uint64_t)b[4] << 8 | b[5];
}

/* A host name without its domain; what is no name of a machine stays as it is. */
static char *short_name(const char *name)
{
	size_t len = strcspn(name, ".");

	return len && strspn(name, "0123456789.") != strlen(name) ? strndup(name, len)
								  : strdup(name);
}

static bool forwards(json_object *chassis)
{
	json_object *list = get(chassis, "capability"), *one;

	for (size_t i = 0; (one = item(list, i)); i++) {
		const char *type = text_at(one, "type");
		if (type && (strcmp(type, "Bridge") == 0 || strcmp(type, "Router") == 0) &&
		    json_object_get_boolean(get(one, "enabled")))
			return true;
	}
	return false;
}

/* One more element, zeroed, behind those of *array; NULL without memory. */
static void *append(void **array, size_t *count, size_t *room, size_t size)
{
	if (*count == *room) {
		size_t more = *room ? *room * 2 : 64;
		void *bigger = reallocarray(*array, more, size);
		if (!bigger)
			return NULL;
		*array = bigger;
		*room = more;
	}
	return memset((char *)*array + (*count)++ * size, 0, size);
}

static struct machine *add_machine(struct lldp *l, const char *key, bool named)
{
	struct machine *m = append((void **)&l->machines, &l->machine_count, &l->machine_room,
				   sizeof(*l->machines));

	if (!m || !(m->key = named ? short_name(key) : strdup(key)))
		return NULL;
	m->named = named;
	return m;
}

/* {"leaf1": {...}}, or the object itself with its name inside it or none. *name: NULL for none. */
static json_object *open_chassis(json_object *value, const char **name)
{
	value = item(value, 0);
	*name = NULL;
	if (!json_object_is_type(value, json_type_object))
		return NULL;
	if (get(value, "id")) {
		*name = text_at(value, "name");
		return value;
	}
	json_object_object_foreach(value, key, inner)
	{
		if (!get(inner, "id"))
			continue;
		*name = strlen(key) <= TEXT_MAX_BYTES ? key : NULL;
		return inner;
	}
	return NULL;
}

/* The machine that a chassis is of; NULL: there is nothing to know it by, or (*rc) no memory. */
static struct machine *take_chassis(struct lldp *l, json_object *value, int *rc)
{
	const char *name, *id;
	json_object *chassis = open_chassis(value, &name);
	struct machine *m;

	id = text_at(item(get(chassis, "id"), 0), "value");
	if (!name && !id)
		return NULL;
	m = add_machine(l, name && *name ? name : id ? id : "", name && *name);
	if (!m) {
		*rc = -ENOMEM;
		return NULL;
	}
	m->mac_guid = id ? guid_of_mac(id) : 0;
	m->forwards = forwards(chassis);
	return m;
}

/* A word that can be the name of an interface: swp1, Ethernet1/1, ens4f0np0. */
static bool is_interface(const char *text)
{
	return text && *text && strlen(text) <= 32 && text[strcspn(text, "0123456789")] &&
	       strspn(text,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:-") ==
		       strlen(text) &&
	       !guid_of_mac(text);
}

/* How a port calls itself: the interface's name where it is sent, else its id. */
static const char *port_name(json_object *port)
{
	json_object *id = item(get(port, "id"), 0);
	const char *type = text_at(id, "type"), *value = text_at(id, "value");
	const char *descr = text_at(port, "descr");

	if (type && value && strcmp(type, "ifname") == 0)
		return value;
	return is_interface(descr) ? descr : value;
}

static int take_neighbour(struct lldp *l, const char *local, const char *port, json_object *entry,
			  const char *source)
{
	const char *peer_port = port_name(item(get(entry, "port"), 0));
	struct sighting *s;
	struct machine *m;
	int rc = 0;

	if (!get(entry, "chassis"))
		return 0; /* an interface without a neighbour */
	m = take_chassis(l, get(entry, "chassis"), &rc);
	if (rc < 0)
		return rc;
	if (!m || !peer_port || strlen(port) > TEXT_MAX_BYTES) {
		notes_add(&l->warnings, "%s: the neighbour on %.64s is not understood", source,
			  port);
		return 0;
	}
	s = append((void **)&l->sightings, &l->sighting_count, &l->sighting_room,
		   sizeof(*l->sightings));
	if (!s)
		return -ENOMEM;
	s->local = strdup(local);
	s->port = strdup(port);
	s->peer = strdup(m->key);
	s->peer_port = strdup(peer_port);
	return s->local && s->port && s->peer && s->peer_port ? 0 : -ENOMEM;
}

/* One element of `interface`: with its name inside it, or as the value of its name. */
static int take_interface(struct lldp *l, const char *local, json_object *element,
			  const char *source)
{
	const char *name = text_at(element, "name");
	int rc = 0;

	if (name && get(element, "via"))
		return take_neighbour(l, local, name, element, source);
	if (!json_object_is_type(element, json_type_object)) {
		notes_add(&l->warnings, "%s: an interface is no object", source);
		return 0;
	}
	json_object_object_foreach(element, key, value)
	{
		json_object *entry;
		for (size_t i = 0; rc == 0 && (entry = item(value, i)); i++)
			rc = take_neighbour(l, local, key, entry, source);
	}
	return rc;
}

/* One JSON text of a file, which may hold several. */

/* The length of the value that text begins with: up to the brace that closes it. */
static size_t value_length(const char *text, size_t len)
{
	size_t depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		if (quoted && text[i] == '\\') {
			i++;
		} else if (text[i] == '"') {
			quoted = !quoted;
		} else if (!quoted && (text[i] == '{' || text[i] == '[')) {
			depth++;
		} else if (!quoted && (text[i] == '}' || text[i] == ']')) {
			if (depth <= 1)
				return i + 1;
			depth--;
		}
	}
	return len;
}

#define TEXTS_MAX 4 /* neighbours, chassis, and room for their repetition */

struct texts {
	json_object *values[TEXTS_MAX];
	size_t count;
};

static int parse_texts(struct texts *t, const char *text, size_t len, const char *source,
		       struct err *err)
{
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	for (;;) {
		size_t n;
		while (len && isspace((unsigned char)*text)) {
			text++;
			len--;
		}
		if (len == 0)
			return 0;
		n = value_length(text, len);
		if (t->count == TEXTS_MAX)
			return err_set(err, EINVAL, "%s: more than %d JSON texts in one file",
				       source, TEXTS_MAX);
		t->values[t->count] = json_parse(text, n, source, err);
		if (!t->values[t->count])
			return -EINVAL;
		t->count++;
		text += n;
		len -= n;
	}
}

static char *name_of_file(const char *source)
{
	const char *slash = strrchr(source, '/');

	source = slash ? slash + 1 : source;
	return strndup(source, strcspn(source, "."));
}

/* Who wrote this: its `show chassis`, or the file's name. NULL without memory. */
static char *who(struct lldp *l, const struct texts *t, const char *source)
{
	struct machine *m = NULL;
	char *name;
	int rc = 0;

	for (size_t i = 0; !m && rc == 0 && i < t->count; i++) {
		json_object *local = item(get(t->values[i], "local-chassis"), 0);
		if (local)
			m = take_chassis(l, get(local, "chassis"), &rc);
	}
	if (rc == 0 && !m) {
		name = name_of_file(source);
		m = name ? add_machine(l, name, true) : NULL;
		free(name);
	}
	if (!m)
		return NULL;
	m->own = true;
	return strdup(m->key);
}

int lldp_add(struct lldp *l, const char *text, size_t len, const char *source, struct err *err)
{
	struct texts t = { 0 };
	int rc = parse_texts(&t, text, len, source, err);
	char *local = rc == 0 ? who(l, &t, source) : NULL;
	bool any = false;

	if (rc == 0 && !local)
		rc = err_set(err, ENOMEM, "%s: out of memory", source);
	for (size_t i = 0; rc == 0 && i < t.count; i++) {
		json_object *list = item(get(t.values[i], "lldp"), 0), *element;
		any = any || list || get(t.values[i], "lldp");
		list = get(list, "interface");
		for (size_t j = 0; rc == 0 && (element = item(list, j)); j++)
			if (take_interface(l, local, element, source) < 0)
				rc = err_set(err, ENOMEM, "%s: out of memory", source);
	}
	if (rc == 0 && !any)
		rc = err_set(err, EINVAL,
			     "%s: it is JSON, but not of `lldpcli -f json0 show neighbors`",
			     source);
	for (size_t i = 0; i < t.count; i++)
		json_object_put(t.values[i]);
	free(local);
	return rc;
}

/* Machines. */

static int by_machine(const void *x, const void *y)
{
	return strcmp(((const struct machine *)x)->key, ((const struct machine *)y)->key);
}

/* What machines say of themselves beats nothing; a MAC address that differs is none. */
static void merge_machines(struct lldp *l)
{
	size_t kept = 0;

	if (l->machine_count)
		qsort(l->machines, l->machine_count, sizeof(*l->machines), by_machine);
	for (size_t i = 0; i < l->machine_count; i++) {
		struct machine *m = &l->machines[i], *last = kept ? &l->machines[kept - 1] : NULL;
		if (!last || by_machine(last, m) != 0) {
			l->machines[kept++] = *m;
			continue;
		}
		/* each bond member of a host may send its own address: the lowest stands for all */
		if (!last->mac_guid || (m->mac_guid && m->mac_guid < last->mac_guid))
			last->mac_guid = m->mac_guid;
		last->forwards |= m->forwards;
		last->own |= m->own;
		last->named |= m->named;
		free(m->key);
	}
	l->machine_count = kept;
}

static size_t find_machine(const struct lldp *l, char *key)
{
	struct machine wanted = { .key = key };
	struct machine *m =
		bsearch(&wanted, l->machines, l->machine_count, sizeof(*l->machines), by_machine);

	return (size_t)(m - l->machines);
}

static bool begins_with(const char *name, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(name, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/* Ports of switches as Cumulus, SONiC, NVOS, EOS, NX-OS, Junos and IOS call them. */
static bool is_switch_port(const char *name)
{
	static const char *const words[] = { "swp", "Ethernet", "Eth", "etp", "et-", "xe-", "ge-" };

	return begins_with(name, words, sizeof(words) / sizeof(words[0])) || strstr(name, "GigE") ||
	       strstr(name, "GigabitEthernet");
}

/* Interfaces of hosts as kernel, udev, drivers and administrators call them. */
static bool is_nic(const char *name)
{
	static const char *const words[] = {
		"en", "eth", "ib", "mlx", "rail", "roce", "rdma", "hsn"
	};

	return begins_with(name, words, sizeof(words) / sizeof(words[0])) && !is_switch_port(name);
}

static void look_at_port(struct machine *m, const char *port)
{
	m->switch_port |= is_switch_port(port);
	m->nic |= is_nic(port);
}

static void find_switches(struct lldp *l)
{
	for (size_t i = 0; i < l->sighting_count; i++) {
		look_at_port(&l->machines[l->sightings[i].from], l->sightings[i].port);
		look_at_port(&l->machines[l->sightings[i].to], l->sightings[i].peer_port);
	}
	for (size_t i = 0; i < l->machine_count; i++) {
		struct machine *m = &l->machines[i];
		m->is_switch = m->switch_port || (m->forwards && !m->nic);
	}
	/* Who has said nothing itself and was seen by a host is a switch. */
	for (size_t i = 0; i < l->sighting_count; i++) {
		const struct machine *from = &l->machines[l->sightings[i].from];
		struct machine *to = &l->machines[l->sightings[i].to];
		if (!from->is_switch && !to->own)
			to->seen_by_host = true;
	}
	for (size_t i = 0; i < l->machine_count; i++)
		l->machines[i].is_switch |= l->machines[i].seen_by_host;
}

/* Cables. */

struct cable {
	size_t a, b; /* machines */
	const char *a_port, *b_port;
};

static int by_pair(const void *x, const void *y)
{
	const struct sighting *a = x, *b = y;
	size_t a_low = a->from < a->to ? a->from : a->to, a_high = a->from + a->to - a_low;
	size_t b_low = b->from < b->to ? b->from : b->to, b_high = b->from + b->to - b_low;
	int order;

	if (a_low != b_low)
		return a_low < b_low ? -1 : 1;
	if (a_high != b_high)
		return a_high < b_high ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	order = strcmp(a->port, b->port);
	return order ? order : strcmp(a->peer_port, b->peer_port);
}

static bool same_pair(const struct sighting *a, const struct sighting *b)
{
	return (a->from == b->from && a->to == b->to) || (a->from == b->to && a->to == b->from);
}

/* The other machine's word on the cable that s tells of; NULL: there is none. */
static struct sighting *other_word(struct sighting *pair, size_t count, const struct sighting *s)
{
	for (size_t i = 0; i < count; i++)
		if (!pair[i].used && pair[i].from == s->to && pair[i].to == s->from &&
		    (strcmp(pair[i].port, s->peer_port) == 0 ||
		     strcmp(pair[i].peer_port, s->port) == 0))
			return &pair[i];
	return NULL;
}

/* The cables of two machines that saw each other, behind `cables`; returns how many. */
static size_t join_words(struct sighting *pair, size_t count, struct cable *cables)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct sighting *s = &pair[i], *other;
		if (s->used)
			continue;
		s->used = true;
		for (size_t j = i + 1; j < count; j++) /* LLDP and another protocol, same words */
			if (by_pair(s, &pair[j]) == 0)
				pair[j].used = true;
		other = s->from != s->to ? other_word(pair, count, s) : NULL;
		if (other)
			other->used = true;
		cables[n++] = (struct cable){ s->from, s->to, s->port,
					      other ? other->port : s->peer_port };
	}
	return n;
}

/* Ports of switches as numbers. */

struct end {
	size_t machine;
	const char *name;
	int number;
};

static int by_end(const void *x, const void *y)
{
	const struct end *a = x, *b = y;
	int order;

	if (a->machine != b->machine)
		return a->machine < b->machine ? -1 : 1;
	order = names_compare(a->name, b->name);
	return order ? order : strcmp(a->name, b->name);
}

/* The only number in a name like swp7, 0 when it has none, several, or one that is no port's. */
static int own_number(const char *name)
{
	size_t before = strcspn(name, "0123456789"), n = strspn(name + before, "0123456789");
	int value = n && n < 4 ? atoi(name + before) : 0;

	return name[before + n] == '\0' && value >= 1 && value <= PORT_MAX ? value : 0;
}

/* A switch's ports keep the numbers in their names when these tell them apart; else they are
 * counted. */
static void number_ports(struct end *ends, size_t count)
{
	bool apart = count <= PORT_MAX;

	for (size_t i = 0; i < count; i++) {
		ends[i].number = own_number(ends[i].name);
		apart = apart && ends[i].number && (i == 0 || ends[i - 1].number < ends[i].number);
	}
	for (size_t i = 0; !apart && i < count; i++)
		ends[i].number = i < PORT_MAX ? (int)i + 1 : 0;
}

static struct end *list_ends(const struct cable *cables, size_t count, size_t *n)
{
	struct end *ends = calloc(count * 2 + 1, sizeof(*ends));
	size_t kept = 0;

	if (!ends)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		ends[i * 2] = (struct end){ cables[i].a, cables[i].a_port, 0 };
		ends[i * 2 + 1] = (struct end){ cables[i].b, cables[i].b_port, 0 };
	}
	qsort(ends, count * 2, sizeof(*ends), by_end);
	for (size_t i = 0; i < count * 2; i++)
		if (!kept || by_end(&ends[kept - 1], &ends[i]) != 0)
			ends[kept++] = ends[i];
	for (size_t i = 0, end; i < kept; i = end) {
		for (end = i + 1; end < kept && ends[end].machine == ends[i].machine;)
			end++;
		number_ports(&ends[i], end - i);
	}
	*n = kept;
	return ends;
}

/* FNV-1a over both texts, with the bit that says a GUID is made up locally. */
static uint64_t made_guid(const char *one, const char *other)
{
	uint64_t hash = 14695981039346656037u;

	for (int i = 0; i < 2; i++, one = other)
		for (const char *p = one;; p++) {
			hash = (hash ^ (unsigned char)*p) * 1099511628211u;
			if (!*p)
				break;
		}
	return hash | UINT64_C(0x0200000000000000);
}

struct writer {
	const struct lldp *l;
	struct subnet *s;
	struct end *ends;
	size_t end_count;
	bool *linked; /* machines: a switch with a cable to another switch */
	bool heard;   /* some switch's own words are there */
};

static int add_switches(struct writer *w)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < w->l->machine_count; i++) {
		const struct machine *m = &w->l->machines[i];
		struct subnet_node node = {
			.guid = m->mac_guid ? m->mac_guid : made_guid(m->key, ""),
			.kind = SUBNET_SWITCH,
			.description = m->key,
			.described = m->own || !w->heard || w->linked[i],
		};
		if (m->is_switch)
			rc = subnet_add_node(w->s, &node);
	}
	return rc;
}

/* The end of a cable: a port of a switch, or an HCA of its own. *rc is set without memory. */
static struct subnet_end add_end(struct writer *w, size_t machine, const char *port, int *rc)
{
	const struct machine *m = &w->l->machines[machine];
	struct end wanted = { machine, port, 0 };
	const struct end *end = bsearch(&wanted, w->ends, w->end_count, sizeof(*w->ends), by_end);
	struct subnet_node node = { .kind = SUBNET_CA, .ports = 1, .described = true };

	if (m->is_switch)
		return (struct subnet_end){ m->mac_guid ? m->mac_guid : made_guid(m->key, ""),
					    end->number };
	node.guid = made_guid(m->key, port);
	node.description = m->named ? io_format("%s %s", m->key, port) : strdup(m->key);
	if (!node.description)
		*rc = -ENOMEM;
	else if (*rc == 0)
		*rc = subnet_add_node(w->s, &node);
	free(node.description);
	return (struct subnet_end){ node.guid, 1 };
}

static int add_cables(struct writer *w, const struct cable *cables, size_t count)
{
	struct fabric_wire wire = { 0 };
	int rc = add_switches(w);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct cable *c = &cables[i];
		struct subnet_end a = add_end(w, c->a, c->a_port, &rc);
		struct subnet_end b = add_end(w, c->b, c->b_port, &rc);
		if (rc == 0 && a.port && b.port)
			rc = subnet_add_cable(w->s, a, b, &wire, true);
		else if (rc == 0)
			notes_add(&w->s->missing, "%s has more than %d ports",
				  w->l->machines[a.port ? c->b : c->a].key, PORT_MAX);
	}
	return rc;
}

static int write_all(struct writer *w, const struct cable *cables, size_t count)
{
	const struct machine *machines = w->l->machines;

	for (size_t i = 0; i < w->l->machine_count; i++)
		w->heard |= machines[i].is_switch && machines[i].own;
	for (size_t i = 0; i < count; i++)
		if (machines[cables[i].a].is_switch && machines[cables[i].b].is_switch)
			w->linked[cables[i].a] = w->linked[cables[i].b] = true;
	if (!w->heard && count) {
		w->s->links_unknown = true;
		notes_add(&w->s->warnings, "no switch's own LLDP is there: links between switches "
					   "are unknown, and one "
					   "root stands above all of them");
	}
	return add_cables(w, cables, count);
}

int lldp_finish(struct lldp *l, struct subnet *s)
{
	struct cable *cables = calloc(l->sighting_count + 1, sizeof(*cables));
	struct writer w = { .l = l, .s = s };
	size_t count = 0;
	int rc = -ENOMEM;

	for (size_t i = 0; i < l->warnings.kept; i++)
		notes_add(&s->warnings, "%s", l->warnings.lines[i]);
	merge_machines(l);
	for (size_t i = 0; i < l->sighting_count; i++) {
		l->sightings[i].from = find_machine(l, l->sightings[i].local);
		l->sightings[i].to = find_machine(l, l->sightings[i].peer);
	}
	find_switches(l);
	if (l->sighting_count)
		qsort(l->sightings, l->sighting_count, sizeof(*l->sightings), by_pair);
	for (size_t i = 0, end; cables && i < l->sighting_count; i = end) {
		for (end = i + 1;
		     end < l->sighting_count && same_pair(&l->sightings[i], &l->sightings[end]);)
			end++;
		count += join_words(&l->sightings[i], end - i, cables + count);
	}
	w.linked = calloc(l->machine_count + 1, sizeof(*w.linked));
	w.ends = cables ? list_ends(cables, count, &w.end_count) : NULL;
	if (w.linked && w.ends)
		rc = write_all(&w, cables, count);
	free(w.linked);
	free(w.ends);
	free(cables);
	return rc;
}
