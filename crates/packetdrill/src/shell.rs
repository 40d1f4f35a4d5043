//! Lines of the shell that scripts use to set sysctls, understood without a shell.

/// What a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sets a sysctl (`tcp_sack`), or another setting of the host (`gso`), to a value.
    Set(String, String),
    /// Something else: its words.
    Other(String),
}

/// Deepest nesting of files that call others, most commands, and longest text of all files together.
const DEEPEST: usize = 8;
const MOST_COMMANDS: usize = 10_000;
const MOST_BYTES: usize = 1 << 20;

/// Steps of a text of the shell.
///
/// `read`: content of a file by its path, as the script names it.
///
/// # Errors
/// A file cannot be read, or the text has no end.
pub fn steps(text: &str, read: &dyn Fn(&str) -> Option<String>) -> Result<Vec<Step>, String> {
    let mut found = Found::default();
    found.collect(text, read, 0)?;
    Ok(found.steps)
}

#[derive(Default)]
struct Found {
    steps: Vec<Step>,
    commands: usize,
    bytes: usize,
}

impl Found {
    fn collect(
        &mut self,
        text: &str,
        read: &dyn Fn(&str) -> Option<String>,
        depth: usize,
    ) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > MOST_BYTES {
            return Err(format!("the shell's files are longer than {MOST_BYTES} bytes"));
        }
        for words in commands(text)? {
            self.commands += 1;
            if self.commands > MOST_COMMANDS {
                return Err(format!("more than {MOST_COMMANDS} commands"));
            }
            let Some((first, rest)) = words.split_first() else { continue };
            let name = first.rsplit('/').next().unwrap_or(first);
            match name {
                "sysctl" => {
                    settings(rest.iter().filter(|word| !word.starts_with('-')), &mut self.steps);
                }
                "set_sysctls.py" => settings(rest.iter(), &mut self.steps),
                "ethtool" => offloads(rest, &mut self.steps),
                // The host is as new before each script, and its device has no queue of its own.
                _ if name.starts_with("sysctl_restore") => {}
                "ip" if rest.first().is_some_and(|word| word == "tcp_metrics") => {}
                "tc" if rest.ends_with(&["root".to_owned(), "pfifo".to_owned()]) => {}
                _ if name.ends_with(".sh") && depth < DEEPEST => {
                    let content = read(first).ok_or_else(|| format!("{first} cannot be read"))?;
                    self.collect(&content, read, depth + 1)?;
                }
                _ => self.steps.push(Step::Other(words.join(" "))),
            }
        }
        Ok(())
    }
}

/// `net.ipv4.tcp_sack=1`, `/proc/sys/net/ipv4/tcp_sack=1`.
fn settings<'a>(words: impl Iterator<Item = &'a String>, steps: &mut Vec<Step>) {
    for word in words {
        steps.push(match word.split_once('=') {
            Some((path, value)) => {
                let path = path.trim_start_matches("/proc/sys/").replace('/', ".");
                let name = path.strip_prefix("net.ipv4.").unwrap_or(&path);
                Step::Set(name.to_owned(), value.trim().to_owned())
            }
            None => Step::Other(format!("sysctl {word}")),
        });
    }
}

/// `ethtool -K tun0 tso off gso off`.
fn offloads(words: &[String], steps: &mut Vec<Step>) {
    if words.first().is_none_or(|word| word != "-K") {
        steps.push(Step::Other(format!("ethtool {}", words.join(" "))));
        return;
    }
    for pair in words.get(2..).unwrap_or(&[]).chunks(2) {
        if let [name, state] = pair {
            let on = if state == "on" { "1" } else { "0" };
            steps.push(Step::Set(name.clone(), on.to_owned()));
        }
    }
}

/// Commands of a text, each as its words; redirections are left out.
fn commands(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut all = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut rest = text
        .trim_start()
        .strip_prefix("#!")
        .map_or(text, |script| script.split_once('\n').map_or("", |(_, after)| after));
    let mut redirects = false;
    let end_word = |word: &mut Option<String>, all: &mut Vec<Vec<String>>, redirects: &mut bool| {
        if let Some(done) = word.take() {
            if !std::mem::take(redirects) {
                if let Some(last) = all.last_mut() {
                    last.push(done);
                }
            }
        }
    };
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        rest = match letter {
            '\\' => {
                let mut hidden = after.chars();
                match hidden.next() {
                    Some('\n') | None => {}
                    Some(other) => word.get_or_insert_default().push(other),
                }
                hidden.as_str()
            }
            '#' if word.is_none() => after.find('\n').map_or("", |end| &after[end..]),
            '"' | '\'' => {
                let end = after.find(letter).ok_or("a quote has no end")?;
                word.get_or_insert_default().push_str(&expanded(&after[..end])?);
                &after[end + 1..]
            }
            '$' if after.starts_with("((") => {
                let end = after.find("))").ok_or("`$((` has no end")?;
                word.get_or_insert_default().push_str(&product(&after[2..end])?);
                &after[end + 2..]
            }
            '>' => {
                // The number of the stream before it is no argument.
                word = word.filter(|word| !matches!(word.as_str(), "1" | "2" | "&"));
                end_word(&mut word, &mut all, &mut redirects);
                redirects = true;
                after.trim_start_matches(['>', '&'])
            }
            '\n' | ';' | '|' => {
                end_word(&mut word, &mut all, &mut redirects);
                redirects = false;
                all.push(Vec::new());
                after
            }
            '&' if after.starts_with('>') => after,
            '&' => {
                end_word(&mut word, &mut all, &mut redirects);
                all.push(Vec::new());
                after
            }
            space if space.is_whitespace() => {
                end_word(&mut word, &mut all, &mut redirects);
                after
            }
            other => {
                word.get_or_insert_default().push(other);
                after
            }
        };
    }
    end_word(&mut word, &mut all, &mut redirects);
    all.retain(|words| !words.is_empty());
    Ok(all)
}

/// A quoted text with its arithmetic done.
fn expanded(text: &str) -> Result<String, String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find("$((") {
        let end = rest[begin..].find("))").ok_or("`$((` has no end")? + begin;
        done.push_str(&rest[..begin]);
        done.push_str(&product(&rest[begin + 3..end])?);
        rest = &rest[end + 2..];
    }
    done.push_str(rest);
    Ok(done)
}

/// A product of numbers: `15*1024*1024`.
fn product(text: &str) -> Result<String, String> {
    let mut factors = text.split('*').map(|factor| factor.trim().parse::<u64>().ok());
    let product = factors.try_fold(1u64, |all, one| all.checked_mul(one?));
    product.map(|number| number.to_string()).ok_or_else(|| format!("`{text}` is no product"))
}

#[cfg(test)]
mod tests {
    use super::{steps, Step};

    fn set(name: &str, value: &str) -> Step {
        Step::Set(name.to_owned(), value.to_owned())
    }

    #[test]
    fn sysctls_of_files_of_others_and_of_the_text_itself() {
        let read = |path: &str| {
            (path == "../common/defaults.sh").then(|| {
                "#!/bin/bash\n# first\nip tcp_metrics flush all > /dev/null 2>&1\n\
                 sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024))\" # why\n\
                 sysctl -q a.b=1 net.ipv4.tcp_recovery=1 > /dev/null 2>&1\n\
                 tc qdisc add dev tun0 root pfifo\n"
                    .to_owned()
            })
        };
        let text = "../common/defaults.sh\n ./set_sysctls.py /proc/sys/net/ipv4/tcp_sack=0 \\\n \
                    /proc/sys/net/ipv4/tcp_timestamps=0\nethtool -K tun0 tso off gso off\nnstat -n";
        let expected = vec![
            set("tcp_rmem", "4096 540000 15360"),
            set("a.b", "1"),
            set("tcp_recovery", "1"),
            set("tcp_sack", "0"),
            set("tcp_timestamps", "0"),
            set("tso", "0"),
            set("gso", "0"),
            Step::Other("nstat -n".to_owned()),
        ];
        assert_eq!(steps(text, &read), Ok(expected));
        assert!(steps("./missing.sh", &read).is_err());
        assert!(steps("echo \"open", &read).is_err());
    }
}
