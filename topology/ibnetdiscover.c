/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ibnetdiscover.c - the text that ibnetdiscover writes, as a subnet; see ibnetdiscover.h.
 *
 * The form is that of infiniband-diags' ibnetdiscover.c (out_switch, out_ca and their port lines,
 * and dump_ports_report for -p):
 *
 *   vendid=0x2c9                      these four belong to the node header that follows
 *   devid=0xd2f2
 *   sysimgguid=0x2c5eab0300b87b40
 *   switchguid=0x2c5eab0300b87b40(2c5eab0300b87b40)
 *   Switch  65 "S-2c5eab0300b87b40"   # "description" enhanced port 0 lid 73 lmc 0
 *   [1] "H-e09d7303007a4bd8"[1](e09d7303007a4bd8)   # "description of the peer" lid 647 4xNDR
 *   [2][ext 7] "S-2c5eab0300c26280"[32][ext 1]      # ...
 *   Ca 1 "H-e09d7303007a4bd8"         # "description"
 *   [1](e09d7303007a4bd8) "S-2c5eab0300b87b40"[1]   # lid 647 lmc 0 "peer" lid 73 4xNDR
 *
 * A list of ports has both ends in a line, and the GUIDs of ports: for a switch that is its own.
 *
 *   CA   647  1 0xe09d7303007a4bd8 4x NDR - SW    73  1 0x2c5eab0300b87b40 ( 'of it' - 'of its
 * peer' ) SW    73 37 0x2c5eab0300b87b40 4x ???                                    'no peer'
 *
 * People save it from terminals: carriage returns, prompts, messages of stderr between the lines
 * and lost blank lines are all met. So each line is judged by itself, whatever the form of the
 * others, and only headers and their attributes change what the port lines belong to. A node is
 * known by the GUID in its quoted id.
 */
#include "ibnetdiscover.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 1024 /* the longest real line is below 200 */

struct parser {
	struct subnet *s;
	const char *source;
	size_t line;
	struct subnet_node next; /* what was told about the next node */
	struct subnet_node node; /* the one port lines belong to */
	bool in_node;
	bool any;
};

static char *skip_blanks(char *p)
{
	while (*p == ' ')
		p++;
	return p;
}

/* Hex digits (0x in front or not) that fit 64 bits; NULL when there are none or too many. */
static char *read_hex(char *p, uint64_t *value)
{
	char *start;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	start = p;
	*value = 0;
	while (isxdigit((unsigned char)*p)) {
		int c = tolower((unsigned char)*p++);
		*value = *value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return p == start || p - start > 16 ? NULL : p;
}

/* A decimal number up to 255 (ports are counted in one byte). */
static char *read_port(char *p, int *value)
{
	char *start = p;

	*value = 0;
	while (isdigit((unsigned char)*p) && *value <= 255)
		*value = *value * 10 + (*p++ - '0');
	return p == start || *value > 255 ? NULL : p;
}

/* "[12]", and "[ext 5]" behind it if it is there. */
static char *read_bracket(char *p, int *port)
{
	if (*p != '[' || !(p = read_port(p + 1, port)) || *p != ']' || *port == 0)
		return NULL;
	p++;
	if (strncmp(p, "[ext", 4) == 0) {
		p = strchr(p, ']');
		return p ? p + 1 : NULL;
	}
	return p;
}

/* "(hex)" if it is there; *guid stays 0 when it is not, or when it is no GUID but a number. */
static char *read_paren(char *p, uint64_t *guid)
{
	*guid = 0;
	if (*p != '(')
		return p;
	p = read_hex(p + 1, guid);
	if (!p || *p != ')')
		return NULL;
	if (*guid <= 0xffff)
		*guid = 0; /* one flavour repeats the port's number here */
	return p + 1;
}

/* The quoted id: S-, H- or R- and the GUID. */
static char *read_id(char *p, enum subnet_kind *kind, uint64_t *guid)
{
	if (*p++ != '"')
		return NULL;
	if (*p == 'S')
		*kind = SUBNET_SWITCH;
	else if (*p == 'H')
		*kind = SUBNET_CA;
	else if (*p == 'R')
		*kind = SUBNET_ROUTER;
	else
		return NULL;
	if (p[1] != '-' || !(p = read_hex(p + 2, guid)) || *p != '"' || *guid == 0)
		return NULL;
	return p + 1;
}

/* The description between the first and the last quote of rest, cut out of it; NULL: none. */
static char *cut_description(char *rest, char **behind)
{
	char *first = strchr(rest, '"'), *last = strrchr(rest, '"');

	*behind = rest;
	if (!first || first == last)
		return NULL;
	*last = '\0';
	*behind = last + 1;
	return first + 1;
}

/* The "4xNDR" among the words of text. */
static void read_wire(struct parser *p, char *text, struct fabric_wire *wire)
{
	char *save = NULL;

	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		int width = 0;
		char *end = read_port(word, &width);
		if (!end || *end != 'x' || !isupper((unsigned char)end[1]))
			continue;
		if (width != 1 && width != 2 && width != 4 && width != 8 && width != 12) {
			notes_add(&p->s->warnings, "%s:%zu: %d lanes is no known width", p->source,
				  p->line, width);
			return;
		}
		wire->width = width;
		wire->speed_bps = subnet_speed_bps(end + 1, width);
		if (!wire->speed_bps)
			notes_add(&p->s->warnings, "%s:%zu: \"%.16s\" is no known speed", p->source,
				  p->line, end + 1);
		return;
	}
}

static void lost_line(struct parser *p, const char *line, const char *why)
{
	notes_add(&p->s->missing, "%s:%zu: %s: %.120s", p->source, p->line, why, line);
}

static bool starts(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

/* The attributes before a header. True when line is one. */
static bool take_attribute(struct parser *p, char *line)
{
	uint64_t value = 0;
	char *equals = strchr(line, '=');

	if (!equals)
		return false;
	if (starts(line, "switchguid=") || starts(line, "caguid=") || starts(line, "hcaguid=") ||
	    starts(line, "rtguid="))
		return true; /* the id of the header says the same */
	if (!starts(line, "vendid=") && !starts(line, "devid=") && !starts(line, "sysimgguid="))
		return false;
	p->in_node = false; /* should the header get lost, its ports are not the last node's */
	if (!read_hex(equals + 1, &value)) {
		notes_add(&p->s->warnings, "%s:%zu: no hexadecimal number: %.80s", p->source,
			  p->line, line);
		return true;
	}
	if (line[0] == 'v')
		p->next.vendor = (uint32_t)value;
	else if (line[0] == 'd')
		p->next.device = (uint32_t)value;
	else
		p->next.system_guid = value;
	return true;
}

static const char *const headers[] = { "Switch", "Ca", "Hca", "Rt" };

/* What follows the word of a header, NULL when line is none. */
static char *header_rest(char *line)
{
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		size_t n = strlen(headers[i]);
		if (starts(line, headers[i]) && line[n] == ' ')
			return skip_blanks(line + n);
	}
	return NULL;
}

static int take_header(struct parser *p, char *line, char *rest)
{
	struct subnet_node node = p->next;
	char *behind;

	memset(&p->next, 0, sizeof(p->next));
	p->in_node = false; /* port lines of a header that is not understood belong to nobody */
	rest = read_port(rest, &node.ports);
	if (!rest || !(rest = read_id(skip_blanks(rest), &node.kind, &node.guid))) {
		lost_line(p, line, "this node is not understood");
		return 0;
	}
	node.kind = line[0] == 'S' ? SUBNET_SWITCH : line[0] == 'R' ? SUBNET_ROUTER : SUBNET_CA;
	node.description = cut_description(rest, &behind);
	node.described = true;
	p->node = node;
	p->node.description = NULL;
	p->in_node = true;
	p->any = true;
	return subnet_add_node(p->s, &node);
}

/* One port line: this node's port, its peer, and what it says about the peer. */
static int take_port(struct parser *p, char *line)
{
	struct subnet_end here = { p->node.guid, 0 }, there = { 0, 0 };
	struct subnet_node peer = { 0 };
	struct fabric_wire wire = { 0 };
	uint64_t here_guid = 0, there_guid = 0;
	char copy[LINE_MAX_BYTES + 1], *q, *behind;
	int rc;

	memcpy(copy, line, strlen(line) + 1);
	if (!p->in_node) {
		lost_line(p, line, "this port belongs to no node");
		return 0;
	}
	q = read_bracket(copy, &here.port);
	q = q ? read_paren(q, &here_guid) : NULL;
	q = q ? read_id(skip_blanks(q), &peer.kind, &peer.guid) : NULL;
	q = q ? read_bracket(skip_blanks(q), &there.port) : NULL;
	q = q ? read_paren(q, &there_guid) : NULL;
	if (!q || (*q && *q != ' ')) {
		lost_line(p, line, "this port is not understood");
		return 0;
	}
	there.node = peer.guid;
	peer.description = cut_description(q, &behind);
	read_wire(p, behind, &wire);
	rc = subnet_add_node(p->s, &peer);
	if (rc == 0 && here_guid && p->node.kind != SUBNET_SWITCH)
		rc = subnet_add_port(p->s, here.node, here.port, here_guid);
	if (rc == 0 && there_guid && peer.kind != SUBNET_SWITCH)
		rc = subnet_add_port(p->s, there.node, there.port, there_guid);
	return rc < 0 ? rc : subnet_add_cable(p->s, here, there, &wire, false);
}

/* What -p has for a port: kind, LID (some lack it), number and GUID. */
struct listed {
	enum subnet_kind kind;
	int port;
	uint64_t guid;
};

static char *read_listed(char *p, struct listed *out)
{
	static const char *const kinds[] = {
		[SUBNET_SWITCH] = "SW ", [SUBNET_CA] = "CA ", [SUBNET_ROUTER] = "RT "
	};
	size_t kind = 0;
	char *last = NULL, *end;

	while (kind < sizeof(kinds) / sizeof(kinds[0]) && !starts(p, kinds[kind]))
		kind++;
	if (kind == sizeof(kinds) / sizeof(kinds[0]))
		return NULL;
	out->kind = (enum subnet_kind)kind;
	p = skip_blanks(p + 3);
	while (*p && !starts(p, "0x")) { /* the number before the GUID is the port's */
		last = p;
		p += strcspn(p, " ");
		p = skip_blanks(p);
	}
	if (!last || !(end = read_port(last, &out->port)) || *end != ' ' || !*p)
		return NULL;
	p = read_hex(p, &out->guid);
	return p && *p == ' ' && out->guid ? skip_blanks(p) : NULL;
}

/* "( 'one' - 'other' )", cut in two. False when it is not that. */
static bool cut_descriptions(char *p, char **one, char **other)
{
	char *between = strstr(p, "' - '"), *end;

	if (!starts(p, "( '") || !between)
		return false;
	*one = p + 3;
	*between = '\0';
	*other = between + 5;
	end = strrchr(*other, '\'');
	if (end)
		*end = '\0';
	return end != NULL;
}

static int add_listed(struct parser *p, const struct listed *l, char *description, bool described)
{
	bool is_switch = l->kind == SUBNET_SWITCH;
	struct subnet_node node = {
		.guid = l->guid,
		.kind = l->kind,
		.description = description,
		.described = described,
		.only_port = is_switch ? 0 : l->port,
	};
	int rc = subnet_add_node(p->s, &node);

	p->any = true;
	return rc < 0 || is_switch ? rc : subnet_add_port(p->s, l->guid, l->port, l->guid);
}

/* A port without a peer tells of its node only. */
static int take_unconnected(struct parser *p, const struct listed *here, char *rest)
{
	char *quote = strchr(rest, '\''), *end = quote ? strrchr(rest, '\'') : NULL;

	rest = quote && end != quote ? quote + 1 : rest;
	if (quote && end != quote)
		*end = '\0';
	return add_listed(p, here, rest, true);
}

/* One line of -p. */
static int take_listed(struct parser *p, char *line, char *rest, const struct listed *here)
{
	char *wire_text = rest, *dash = strstr(rest, " - "), *one, *other, wire_words[32];
	struct fabric_wire wire = { 0 };
	struct listed there;
	int rc;

	/* "4x NDR" is two words here */
	wire_text += strcspn(wire_text, "x ");
	if (*wire_text != 'x' || wire_text[1] != ' ') {
		lost_line(p, line, "this port is not understood");
		return 0;
	}
	wire_text = skip_blanks(wire_text + 1);
	snprintf(wire_words, sizeof(wire_words), "%.*s%.*s", (int)strcspn(rest, " "), rest,
		 (int)strcspn(wire_text, " "), wire_text);
	read_wire(p, wire_words, &wire);
	if (!dash || dash > strchr(rest, '\'')) {
		wire_text += strcspn(wire_text, " ");
		return take_unconnected(p, here, skip_blanks(wire_text));
	}
	rest = read_listed(dash + 3, &there);
	if (!rest || !cut_descriptions(rest, &one, &other)) {
		lost_line(p, line, "this port is not understood");
		return 0;
	}
	rc = add_listed(p, here, one, true);
	if (rc == 0)
		rc = add_listed(p, &there, other, false);
	return rc < 0 ? rc
		      : subnet_add_cable(p->s, (struct subnet_end){ here->guid, here->port },
					 (struct subnet_end){ there.guid, there.port }, &wire,
					 false);
}

/* Lines of the -g form that only group what follows. */
static bool is_heading(const char *line)
{
	return strcmp(line, "Non-Chassis Nodes") == 0 || starts(line, "Hostname: ") ||
	       (starts(line, "Chassis ") && isdigit((unsigned char)line[8]));
}

/* What libibnetdisc and libibmad say on stderr when a query was not answered. */
static bool tells_of_loss(const char *line)
{
	return strcasestr(line, "timed out") || strcasestr(line, "bad status") ||
	       strcasestr(line, "query failed") || strcasestr(line, "discover failed") ||
	       strcasestr(line, "recv failed") || strcasestr(line, "send failed");
}

static int take_line(struct parser *p, char *line)
{
	char copy[LINE_MAX_BYTES + 1], *rest;
	struct listed here;

	line = skip_blanks(line);
	if (*line == '\0' || *line == '#' || take_attribute(p, line) || is_heading(line))
		return 0;
	rest = header_rest(line);
	if (rest)
		return take_header(p, line, rest);
	if (line[0] == '[' && isdigit((unsigned char)line[1]))
		return take_port(p, line);
	memcpy(copy, line, strlen(line) + 1);
	rest = read_listed(copy, &here);
	if (rest)
		return take_listed(p, line, rest, &here);
	if (tells_of_loss(line))
		lost_line(p, line, "the discovery itself says that a query was lost");
	else
		notes_add(&p->s->warnings, "%s:%zu: not understood: %.120s", p->source, p->line,
			  line);
	return 0;
}

/* Copies one line without its line end, tabs as blanks; one that is too long or holds NULs is lost.
 */
static int take_raw_line(struct parser *p, const char *text, size_t len)
{
	char line[LINE_MAX_BYTES + 1];

	p->line++;
	if (p->line == 1 && len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	while (len && (text[len - 1] == '\r' || text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	if (len > LINE_MAX_BYTES || memchr(text, '\0', len)) {
		lost_line(p, "", "this line is too long or holds NUL bytes");
		return 0;
	}
	for (size_t i = 0; i < len; i++)
		line[i] = text[i] == '\t' ? ' ' : text[i];
	line[len] = '\0';
	return take_line(p, line);
}

int ibnetdiscover_read(struct subnet *s, const char *text, size_t len, const char *source,
		       struct err *err)
{
	struct parser p = { .s = s, .source = source };
	int rc = 0;

	while (rc == 0 && len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;
		rc = take_raw_line(&p, text, n);
		text += n + (end ? 1 : 0);
		len -= n + (end ? 1 : 0);
	}
	if (rc < 0)
		return err_set(err, -rc, "%s: out of memory", source);
	if (!p.any)
		return err_set(err, ENODATA,
			       "%s: there is no node in it; the output of ibnetdiscover (without "
			       "-S, -H, -R), a cache of it or lldpcli's JSON is needed",
			       source);
	return 0;
}
