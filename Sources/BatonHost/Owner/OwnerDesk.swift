package import BatonModel
import Dispatch
import Synchronization

/// Holds the owner's word for a host: whether it is lent, paused, or outside its hours. It tells a listener when the
/// word changes.
///
/// Call `check` about once a second, so that the limits of the hours and the end of a pause are noticed.
package final class OwnerDesk: Sendable {
  private let rules: Mutex<OwnerRules>
  /// The word that the listener heard last.
  private let told: Mutex<OwnersWord>
  /// Locked while the word is changed and written, so that the file always has the last word.
  private let change: Mutex<OwnersPauseFile>
  private let clock: @Sendable () -> Now
  private let listener: @Sendable (OwnersWord) -> Void
  /// What the owner should know about the pause file; `nil` if there is nothing.
  package let warning: String?

  /// - Parameters:
  ///   - hours: the hours in which the host is lent.
  ///   - folder: the worker's data folder. A pause that is stored there goes on.
  ///   - clock: read for each change and each question.
  ///   - listener: called with each new word, in order. It is not called with the first word, which `word()` returns.
  ///     It must not wait, and must not call `check`, `pause` or `resume`.
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

  /// The stored pause. A file that cannot be read counts as a pause, because an owner's pause must not get lost.
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

  /// The owner's word now.
  package func word() -> OwnersWord {
    let now = clock()
    return word(at: now.instant, date: now.date)
  }

  package func word(at now: Instant, date: Timestamp) -> OwnersWord {
    rules.withLock { $0.word(at: now, date: date) }
  }

  /// Tells the listener if the word has changed with time. This method never waits for the disk.
  package func check() {
    tell()
    guard rules.withLock({ $0.forgetPause(at: clock().instant) }) else { return }
    // This only removes the file. A pause whose end has passed would be over after a restart in any case.
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

  /// Pauses the host. When this method returns, the listener has been told and the pause has been written. It waits for
  /// the disk.
  /// - Parameters:
  ///   - name: who pauses the host.
  ///   - length: how long the pause lasts; `nil` for a pause until `resume`.
  /// - Returns: a warning if the pause could not be written. The host is paused all the same, until the worker ends.
  @discardableResult
  package func pause(by name: String, for length: Duration?) -> String? {
    let now = clock()
    return say("the pause works, but it will be lost when the worker ends") {
      $0.pause(by: name, for: length, at: now.instant, date: now.date)
    }
  }

  /// Ends a pause. The hours still apply.
  /// - Returns: a warning if the pause could not be removed from the disk. The host is paused again when the worker
  ///   restarts.
  @discardableResult
  package func resume() -> String? {
    say("the host is no longer paused, but it will be paused again when the worker restarts") { $0.resume() }
  }

  /// Changes the rules, tells the listener and writes the pause.
  /// - Parameter consequence: what a failure to write means for the owner.
  private func say(_ consequence: String, _ body: (inout OwnerRules) -> Void) -> String? {
    change.withLock { file in
      let pause = rules.withLock { rules in
        body(&rules)
        return rules.pause
      }
      // The listener is told before the write, because the owner wants the host without waiting for the disk.
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
