package import BatonModel
import Dispatch
import Synchronization

/// Where the owner of a host says what it may do, and whoever works there hears it.
///
/// `check` is called about once a second, so that hours and the end of a pause are noticed.
package final class OwnerDesk: Sendable {
  private let rules: Mutex<OwnerRules>
  private let told: Mutex<OwnersWord>
  /// Held while the word is changed and written: the file holds what was said last.
  private let change: Mutex<OwnersPauseFile>
  private let clock: @Sendable () -> Now
  private let listener: @Sendable (OwnersWord) -> Void
  /// What the owner has to know of the file; nil if there is nothing.
  package let warning: String?

  /// - Parameters:
  ///   - folder: the worker's data folder; a pause that is on file there goes on.
  ///   - clock: read whenever something is said or asked.
  ///   - listener: called with each new word, in their order; not with the first, which `word()` says. It must not
  ///     wait, nor call `check`, `pause` or `resume`.
  package init(
    hours: LendingHours, folder: String, clock: @escaping @Sendable () -> Now,
    listener: @escaping @Sendable (OwnersWord) -> Void
  ) {
    let (now, file) = (clock(), OwnersPauseFile(folder: folder))
    let (pause, warning) = Self.restored(file, at: now)
    let rules = OwnerRules(hours: hours, pause: pause)
    self.rules = Mutex(rules)
    told = Mutex(rules.word(at: now.instant, date: now.date))
    change = Mutex(file)
    self.clock = clock
    self.listener = listener
    self.warning = warning
  }

  /// A file that cannot be read counts as a pause: an owner's word must not get lost.
  private static func restored(_ file: OwnersPauseFile, at now: Now) -> (OwnersPause?, String?) {
    switch file.read() {
    case .none: return (nil, nil)
    case .paused(let record): return (OwnersPause(record, at: now.instant, date: now.date), nil)
    case .unreadable(let why):
      let pause = OwnersPause(by: "unknown", for: nil, at: now.instant, date: now.date)
      return (
        pause,
        "\(file.path) cannot be read (\(why)): the host counts as paused by its owner until 'baton-worker resume'"
      )
    }
  }

  package func word() -> OwnersWord {
    let now = clock()
    return word(at: now.instant, date: now.date)
  }

  package func word(at now: Instant, date: Timestamp) -> OwnersWord {
    rules.withLock { $0.word(at: now, date: date) }
  }

  /// Tells the listener if time has changed the word. It never waits for a disk.
  package func check() {
    tell()
    guard rules.withLock({ $0.forgetPause(at: clock().instant) }) else { return }
    // Only for the look of it: a pause whose end has come is over also after a restart.
    DispatchQueue(label: "baton.pause").async { [self] in _ = say("") { _ in } }
  }

  private func tell() {
    told.withLock { told in
      let word = word()
      guard word != told else { return }
      told = word
      listener(word)
    }
  }

  /// Pauses the host: the listener has heard of it and it is on file when this returns. It waits for the disk.
  /// - Parameter length: nil means until `resume`.
  /// - Returns: a warning if it could not be written: the host is paused all the same, until the worker ends.
  @discardableResult
  package func pause(by name: String, for length: Duration?) -> String? {
    let now = clock()
    return say("it will be forgotten when the worker ends") {
      $0.pause(by: name, for: length, at: now.instant, date: now.date)
    }
  }

  /// Takes a pause back. The hours hold on.
  @discardableResult
  package func resume() -> String? { say("the host will be paused again when the worker starts anew") { $0.resume() } }

  private func say(_ consequence: String, _ body: (inout OwnerRules) -> Void) -> String? {
    change.withLock { file in
      let pause = rules.withLock { rules in
        body(&rules)
        return rules.pause
      }
      // Before the disk is waited for: the owner wants the host now.
      tell()
      do {
        try file.write(pause?.record)
        return nil
      } catch {
        return "\(error): \(consequence)"
      }
    }
  }
}
