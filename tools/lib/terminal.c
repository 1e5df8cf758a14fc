/* SPDX-License-Identifier: MIT */
#include "tools/lib/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/base/units.h"

#define WORDS_MAX 16 /* of a pager's command */

const char *const terminal_colours[] = {"auto", "always", "never", NULL};

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

void terminal_init(struct terminal *terminal, enum terminal_colour colour)
{
	const char *term = getenv("TERM"), *columns = getenv("COLUMNS");
	struct winsize size = {0};
	uint64_t number;

	*terminal = (struct terminal){.on = isatty(STDOUT_FILENO), .columns = TERMINAL_COLUMNS};
	if (terminal->on) {
		(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
		terminal->columns = size.ws_col ? size.ws_col : 80;
		terminal->rows = size.ws_row ? size.ws_row : 24;
	} else if (columns && !units_parse_number(columns, &number) && number && number < 10000) {
		terminal->columns = (int)number;
	}
	terminal->colour = terminal->on && !is_set("NO_COLOR") && term && strcmp(term, "dumb") != 0;
	if (colour != COLOUR_AUTO)
		terminal->colour = colour == COLOUR_ALWAYS;
}

/* Whether the environment may belong to a user with fewer rights: then its programs are not run. */
static bool foreign_environment(void)
{
	static const char *const by_another[] = {"SUDO_UID", "PKEXEC_UID", "DOAS_USER"};
	const char *home = getenv("HOME");
	struct stat st;

	if (!secure_getenv("PATH"))
		return true; /* or there is nothing to be found */
	if (geteuid() != 0)
		return false;
	for (size_t i = 0; i < sizeof(by_another) / sizeof(by_another[0]); i++)
		if (is_set(by_another[i]))
			return true;
	return !home || stat(home, &st) < 0 || st.st_uid != 0;
}

/* Copies standard input to the terminal: for the process of a pager that cannot be run. */
static void copy_all(void)
{
	char buffer[4096];
	ssize_t n;

	while ((n = read(STDIN_FILENO, buffer, sizeof(buffer))) > 0)
		for (ssize_t done = 0, more; done < n; done += more) {
			more = write(STDOUT_FILENO, buffer + done, (size_t)(n - done));
			if (more < 0)
				_exit(1);
		}
	_exit(n < 0);
}

/* Splits a command at its blanks; `text` is changed. */
static bool split(char *text, char *words[WORDS_MAX + 1])
{
	char *rest = NULL;
	int n = 0;

	for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		if (n == WORDS_MAX)
			return false;
		words[n++] = word;
	}
	words[n] = NULL;
	return n > 0 && strcmp(words[0], "cat") != 0;
}

static void run_pager(char *const words[], int from)
{
	dup2(from, STDIN_FILENO);
	/* leave when all fits on the screen, show colours, keep the screen */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	if (geteuid() == 0)
		setenv("LESSSECURE", "1", 1);
	execvp(words[0], words);
	log_warn("cannot run the pager '%s': %s (set OVNI_PAGER, or use --no-pager)", words[0],
		 strerror(errno));
	copy_all();
}

void terminal_page(struct terminal *terminal)
{
	const char *command = getenv("OVNI_PAGER") ?: getenv("PAGER") ?: "less";
	char *words[WORDS_MAX + 1], *text;
	int ends[2];
	pid_t pid;

	if (!terminal->on || foreign_environment())
		return;
	text = strdup(command);
	if (!text || !split(text, words) || pipe2(ends, O_CLOEXEC) < 0) {
		free(text);
		return;
	}
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		run_pager(words, ends[0]);
	}
	if (pid > 0) {
		dup2(ends[1], STDOUT_FILENO);
		signal(SIGINT, SIG_IGN);
		terminal->pager = pid;
	}
	close(ends[0]);
	close(ends[1]);
	free(text);
}

void terminal_close(struct terminal *terminal)
{
	int status;

	if (!terminal->pager)
		return;
	close(STDOUT_FILENO);
	while (waitpid(terminal->pager, &status, 0) < 0 && errno == EINTR)
		;
	terminal->pager = 0;
}
