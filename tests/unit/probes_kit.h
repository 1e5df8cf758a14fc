/* SPDX-License-Identifier: MIT */
/*
 * probes_kit: programs and libraries that are compiled by the test, and looked at.
 *
 * Files are made in the current folder, which is the test's own. A test that needs a compiler
 * for another language, or a tool that is not there, skips.
 */
#ifndef TESTS_UNIT_PROBES_KIT_H
#define TESTS_UNIT_PROBES_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "trace/base/log.h"
#include "user/probes/resolve.h"

static inline void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Runs a program with arguments (one line, split at blanks). Its status, -1: it is not there. */
static inline int run_status(const char *line)
{
	char copy[1024], *words[64];
	size_t n = 0;
	int status;
	pid_t pid;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok(copy, " "); w && n < 63; w = strtok(NULL, " "))
		words[n++] = w;
	words[n] = NULL;
	if (!n || posix_spawnp(&pid, words[0], NULL, NULL, words, environ))
		return -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

static inline void run(const char *line)
{
	int status = run_status(line);

	if (status == -1)
		skip();
	if (status)
		fail_msg("'%s' ended with %d", line, status);
}

/* While this is on, standard error goes to a file. */
struct said {
	int saved;
	char text[4096];
};

static inline void said_begin(struct said *said)
{
	int fd = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);

	fflush(stderr);
	said->saved = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
}

static inline void said_end(struct said *said)
{
	ssize_t n;
	int fd;

	fflush(stderr);
	dup2(said->saved, STDERR_FILENO);
	close(said->saved);
	fd = open("said", O_RDONLY);
	n = read(fd, said->text, sizeof(said->text) - 1);
	close(fd);
	said->text[n > 0 ? n : 0] = '\0';
}

/* Resolves one -u (or --usdt) with a scope; its messages are in *said. */
static inline int resolve_in(struct sites *sites, const char *text, bool usdt,
			     const struct resolve_scope *scope, struct said *said)
{
	struct requests requests = {0};
	size_t at;
	const char *wrong = usdt ? requests_add_usdt(&requests, text, &at)
				 : requests_add_functions(&requests, text, &at);
	int err;

	if (wrong)
		fail_msg("'%s': %s", text, wrong);
	said_begin(said);
	err = resolve_sites(sites, &requests, scope);
	said_end(said);
	requests_free(&requests);
	return err;
}

static const struct resolve_scope no_scope = {.proc = "/proc", .root = ""};

/* Resolves a request that must succeed. */
static inline void resolved(struct sites *sites, const char *text)
{
	struct said said;

	if (resolve_in(sites, text, false, &no_scope, &said))
		fail_msg("'%s' is not found: %s", text, said.text);
}

/* Resolves a request that must fail with one message that has `says`. */
static inline void refused(const char *text, int want, const char *says)
{
	struct sites sites;
	struct said said;
	int err = resolve_in(&sites, text, false, &no_scope, &said);

	if (!err)
		fail_msg("'%s' is found", text);
	if (err != want || !strstr(said.text, says))
		fail_msg("'%s' gives %d and says: %s", text, err, said.text);
	assert_int_equal(strcspn(said.text, "\n"), strlen(said.text) - 1);
}

/* The labels of all sites, a blank between. */
static inline const char *labels_of(const struct sites *sites)
{
	static char text[8192];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sites->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " | " : "",
					 sites->list[i].label);
	return text;
}

static inline void found(const char *text, const char *labels)
{
	struct sites sites;

	resolved(&sites, text);
	if (strcmp(labels_of(&sites), labels))
		fail_msg("'%s' finds: %s", text, labels_of(&sites));
	resolve_free(&sites);
}

/* The bytes of the file at a site are those at the address that nm gives. */
static inline uint64_t nm_address(const char *file, const char *symbol)
{
	char line[512], name[256], command[300];
	unsigned long long address;
	uint64_t found_at = 0;
	FILE *out;
	char type;

	snprintf(command, sizeof(command), "nm %s", file);
	out = popen(command, "r");
	assert_non_null(out);
	while (fgets(line, sizeof(line), out))
		if (sscanf(line, "%llx %c %255s", &address, &type, name) == 3 &&
		    !strcmp(name, symbol))
			found_at = address;
	pclose(out);
	return found_at;
}

#endif
