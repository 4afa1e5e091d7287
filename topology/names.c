/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names.c - see names.h.
 */
#include "names.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

int names_compare(const char *a, const char *b)
{
	return strverscmp(a, b);
}

/* Words of a default that a vendor or driver sets while nobody has set a description. */
static bool is_vendors(const char *text)
{
	return strcasestr(text, "Mellanox") || strcasestr(text, "ConnectX") ||
	       strcasestr(text, "InfiniHost") || strcasestr(text, "NVIDIA Corporation") ||
	       strcasestr(text, "Connect-IB") || strcasestr(text, "BlueField") ||
	       (strncmp(text, "MT", 2) == 0 && isdigit((unsigned char)text[2]));
}

bool names_appliance(const char *description)
{
	static const char *const words[] = { "Aggregation Node", "Gateway", "BridgeX", "Xsigo",
					     "I/O Director",	 "Skyway" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(description, words[i]))
			return true;
	return strncmp(description, "MF0;", 4) == 0;
}

bool names_manager(const char *host)
{
	return strcasestr(host, "ufm") != NULL;
}

/* Host names of installers and images, and those that mean something else to Slurm. */
static bool is_installers(const char *host)
{
	static const char *const defaults[] = { "localhost", "ubuntu", "debian", "centos",
						"rocky",     "fedora", "linux",	 "unknown",
						"node",	     "all",    "default" };

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (strcasecmp(host, defaults[i]) == 0)
			return true;
	return false;
}

/* "mlx5_0", "HCA-1", "hfi1_0", "ibp12s0": starts with a letter and has a digit. */
static bool is_device(const char *word)
{
	return isalpha((unsigned char)word[0]) && name_valid(word, FABRIC_NAME_MAX) &&
	       word[strcspn(word, "0123456789")] != '\0';
}

/* The forms that are certainly devices and no hosts. */
static bool is_known_device(const char *word)
{
	static const char *const prefixes[] = { "mlx", "HCA-",	  "hfi",   "qib",  "mthca",
						"ibp", "bnxt_re", "irdma", "rocep" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(word, prefixes[i], strlen(prefixes[i])) == 0)
			return is_device(word);
	return false;
}

/*
 * Slurm's host lists take the digits at the end of a name for a number and put 18446744073709551615
 * in the place of one that does not fit: such a name would become another one in topology.conf.
 */
static bool ends_in_huge_number(const char *name)
{
	size_t len = strlen(name), digits = 0;

	while (digits < len && isdigit((unsigned char)name[len - 1 - digits]))
		digits++;
	return digits > 18;
}

/* Cuts the domain off, and refuses what can't be a host's name. */
static bool clean_host(char *host)
{
	if (host[strspn(host, "0123456789.")] == '\0')
		return false; /* a number or an address */
	host[strcspn(host, ".")] = '\0';
	return isalnum((unsigned char)host[0]) && name_valid(host, FABRIC_NAME_MAX) &&
	       !is_installers(host) && !is_known_device(host) && !ends_in_huge_number(host);
}

/*
 * The device in one word with its host: "gpu1:mlx5_0", "gpu1-HCA-1" or "mlx5_0@gpu1", cut in two.
 * NULL: the word has no device in it.
 */
static char *cut_device(char **word)
{
	char *host = *word;

	for (char *p = host; *p; p++) {
		bool sure = strchr(":/@", *p) != NULL;
		char was = *p;
		if ((!sure && !strchr("-_", *p)) || p == host)
			continue;
		/* A host may be called n1-ib0: only what nobody calls a host is cut off there. */
		if (is_known_device(p + 1) &&
		    (sure || strncmp(p + 1, "HCA-", 4) == 0 || strchr(p + 1, '_'))) {
			*p = '\0';
			return p + 1;
		}
		*p = '\0';
		if (sure && is_known_device(host)) {
			*word = p + 1;
			return host;
		}
		*p = was;
	}
	return NULL;
}

bool names_host(const char *description, char host[NAME_ROOM], char device[NAME_ROOM])
{
	char text[256], *save = NULL, *first, *last = NULL;
	size_t words = 1;

	host[0] = device[0] = '\0';
	if (strlen(description) >= sizeof(text) || is_vendors(description))
		return false;
	memcpy(text, description, strlen(description) + 1);
	first = strtok_r(text, " \t", &save);
	if (!first)
		return false;
	for (char *word; (word = strtok_r(NULL, " \t", &save)); words++)
		last = word;
	if (words == 1)
		last = cut_device(&first);
	else if (words == 2 && is_known_device(first) && !is_known_device(last)) {
		char *swap = first;
		first = last;
		last = swap;
	}
	/* Of two words the first is the host's; of more only if the last one is a device. */
	if ((words > 2 && !is_known_device(last)) || !clean_host(first))
		return false;
	memcpy(host, first, strlen(first) + 1);
	if (last && is_device(last))
		memcpy(device, last, strlen(last) + 1);
	return true;
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-';
}

/* Copies len bytes, what is no byte of a name as one '-', without such at the ends. */
static void clean(const char *text, size_t len, char name[NAME_ROOM])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < FABRIC_NAME_MAX; i++) {
		char c = is_name_byte(text[i]) ? text[i] : '-';
		if (c == '-' && (n == 0 || name[n - 1] == '-'))
			continue;
		name[n++] = c;
	}
	while (n && !isalnum((unsigned char)name[n - 1]))
		n--;
	name[n] = '\0';
	if (!isalnum((unsigned char)name[0]))
		name[0] = '\0';
}

/* "MF0;NAME:MODEL/U1" is how managed switches of MLNX-OS and NVOS call themselves; U2 and higher
 * are further ASICs of the same box. */
static bool managed(const char *description, bool with_asic, char name[NAME_ROOM])
{
	char both[256];
	const char *end, *asic;

	name[0] = '\0';
	if (strncmp(description, "MF0;", 4) != 0)
		return false;
	end = strrchr(description, ':');
	asic = strrchr(description, '/');
	if (!end || end - description - 4 > 127 || end == description + 4)
		return false;
	memcpy(both, description + 4, (size_t)(end - description - 4));
	both[end - description - 4] = '\0';
	if (with_asic && asic > end && strcmp(asic, "/U1") != 0)
		snprintf(both + strlen(both), sizeof(both) - strlen(both), "-%.32s", asic + 1);
	clean(both, strlen(both), name);
	return name[0] != '\0';
}

/* Names that could be mistaken for another switch's GUID form, or mean something to Slurm. */
static bool is_reserved(const char *name)
{
	return strncmp(name, "S-", 2) == 0 || strcasecmp(name, "DEFAULT") == 0 ||
	       strcasecmp(name, "ALL") == 0 || ends_in_huge_number(name);
}

void names_switch(const char *description, char name[NAME_ROOM])
{
	name[0] = '\0';
	if (!managed(description, true, name) && !is_vendors(description))
		clean(description, strlen(description), name);
	if (is_reserved(name))
		name[0] = '\0';
}

void names_chassis(const char *description, char name[NAME_ROOM])
{
	managed(description, false, name);
}

void names_switch_guid(uint64_t guid, char name[NAME_ROOM])
{
	snprintf(name, NAME_ROOM, "S-%016llx", (unsigned long long)guid);
}

enum { LETTERS, DIGITS, OTHER };

static int class_of(char c)
{
	return isalpha((unsigned char)c) ? LETTERS : isdigit((unsigned char)c) ? DIGITS : OTHER;
}

/* Length of the run of one class at the start of text. */
static size_t run(const char *text)
{
	size_t n = 0;

	while (text[n] && class_of(text[n]) == class_of(text[0]))
		n++;
	return n;
}

/*
 * True when the runs at places[0..count] are of one class; *equal: they are the same. *len is that
 * of the first.
 */
static bool compare_runs(const char *const *places, size_t count, size_t *len, bool *equal)
{
	*len = run(places[0]);
	*equal = true;
	for (size_t i = 1; i < count; i++) {
		if (!*places[i] != !*places[0] || class_of(*places[i]) != class_of(*places[0]))
			return false;
		if (run(places[i]) != *len || memcmp(places[i], places[0], *len) != 0)
			*equal = false;
	}
	return true;
}

static bool has_letter(const char *text)
{
	while (*text && !isalpha((unsigned char)*text))
		text++;
	return *text != '\0';
}

int names_common(const char *const *names, size_t count, char common[NAME_ROOM])
{
	const char **places = calloc(count + 1, sizeof(*places));
	char kept[NAME_ROOM];
	size_t n = 0, len;
	bool equal, alike = count > 0;

	common[0] = '\0';
	if (!places)
		return -ENOMEM;
	if (alike)
		memcpy(places, names, count * sizeof(*places));
	while (alike && *places[0]) {
		alike = compare_runs(places, count, &len, &equal) && (equal || n > 0);
		if (alike && equal && n + len <= FABRIC_NAME_MAX) {
			memcpy(kept + n, places[0], len);
			n += len;
		}
		for (size_t i = 0; alike && i < count; i++)
			places[i] += run(places[i]);
	}
	for (size_t i = 0; alike && i < count; i++)
		alike = *places[i] == '\0';
	/* A digit run left out between two '-' leaves "--", which clean() makes one. */
	if (alike)
		clean(kept, n, common);
	if (!has_letter(common) || is_reserved(common))
		common[0] = '\0';
	free(places);
	return 0;
}
