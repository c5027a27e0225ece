import BatonHandler
import BatonTestKit
import ContractRows
import Testing

@Suite("Every interruption is tried, and what goes wrong is told", .timeLimit(.minutes(10)))
struct CheckTests {
  /// Runs the check on a handler that should do pages 0 to 4. Returns the text of the error that the check throws;
  /// `nil` if it throws none.
  private func complaint(
    of handler: @escaping @Sendable (Notes) -> Handler, comparingCheckpoints: Bool = true,
    effects: @escaping @Sendable (Notes) -> Set<Int> = { Set($0.all) }
  ) async -> String? {
    do {
      try await TestRequest("com.example.import").checkEveryInterruption(comparingCheckpoints: comparingCheckpoints) {
        let notes = Notes()
        try await $0.complete(handler(notes))
        return effects(notes)
      }
      return nil
    } catch {
      return "\(error)"
    }
  }

  private func lines(_ complaint: String?) -> [Substring] { complaint?.split(separator: "\n") ?? [] }

  /// Returns the first complaint: the second line of the text. The first line has the number of interruptions that the
  /// handler does not survive.
  private func first(_ complaint: String?) -> String? { lines(complaint).dropFirst().first.map(String.init) }

  @Test("a handler that goes on at its checkpoint passes")
  func passes() async {
    #expect(await complaint { pages(5, $0) } == nil)
    #expect(await complaint { batches(5, $0) } == nil)
    #expect(await complaint { _ in { _ in } } == nil)
  }

  @Test("one that skips a batch is caught, by its checkpoints and by its effects")
  func skips() async {
    let skipping: @Sendable (Notes) -> Handler = { notes in
      { task in
        var page = try task.lastCheckpoint(as: Position.self).map { $0.page + 1 } ?? 0
        while page < 5 {
          try Task.checkCancellation()
          notes.append(page)
          page += 1
          try await task.checkpoint(Position(page: page))
        }
      }
    }
    let byCheckpoints = await complaint(of: skipping)
    #expect(lines(byCheckpoints).first == "com.example.import does not survive 18 of 25 interruptions:")
    #expect(
      first(byCheckpoints)
        == "- expiry 'draining' during batch 0: batch 1 of the undisturbed run never came: its checkpoint "
        + #"{"cursor":{"page":2},"version":1}, 0 units, was not reached"#)
    let byEffects = await complaint(of: skipping, comparingCheckpoints: false)
    #expect(first(byEffects)?.hasPrefix("- expiry 'draining' during batch 0: it came out as [") == true)
  }

  @Test("one that begins two batches too early is caught")
  func repeats() async {
    let text = await complaint { notes in
      { task in
        var page = max(0, (try task.lastCheckpoint(as: Position.self)?.page ?? 0) - 2)
        while page < 5 {
          try Task.checkCancellation()
          notes.append(page)
          page += 1
          try await task.checkpoint(Position(page: page))
        }
      }
    }
    #expect(
      first(text)
        == "- expiry 'draining' during batch 1: 2 batches were repeated, and at most 1 may be: a launch begins at "
        + "'task.lastCheckpoint'")
  }

  @Test("one that forgets its checkpoint is caught")
  func forgets() async {
    let text = await complaint { notes in
      { task in
        for page in 0..<5 {
          try Task.checkCancellation()
          notes.append(page)
          try await task.checkpoint(Position(page: page + 1))
        }
      }
    }
    #expect(lines(text).contains { $0.hasPrefix("- expiry 'draining' after 2 batches: 2 batches were repeated") })
  }

  @Test("one that ignores cancellation is caught")
  func ignores() async {
    #expect(
      first(await complaint { heedless(5, $0) })
        == "- expiry 'draining' after 0 batches: launch 1 committed 5 batches that it began after it was asked to stop: "
        + "use 'task.batches', or 'try Task.checkCancellation()' before each batch")
  }

  @Test("one that ignores cancellation past its deadline is caught")
  func overruns() async {
    await #expect {
      try await TestRequest("com.example.import", kind: .refresh, batchDuration: .seconds(5))
        .checkEveryInterruption { try await $0.complete(heedless(5)) }
    } throws: { "\($0)".contains("launch 1 still ran at the deadline of its expiry") }
  }

  @Test("one that returns when it is cancelled is caught, and told what that means")
  func returns() async {
    let text = await complaint { notes in
      { task in do { try await pages(5, notes)(task) } catch is CancellationError {} }
    }
    #expect(
      first(text)
        == "- expiry 'draining' after 0 batches: batch 0 of the undisturbed run never came: its checkpoint "
        + #"{"cursor":{"page":1},"version":1}, 1 units, was not reached (launch 1 returned after it was asked to stop, "#
        + "and returning is completion: throw instead)")
  }

  @Test("one whose repeated batch does it all again is caught by its effects")
  func notIdempotent() async {
    await #expect {
      try await TestRequest("com.example.import").checkEveryInterruption { request in
        let notes = Notes()
        try await request.complete(pages(2, notes))
        return notes.all
      }
    } throws: { error in
      lines("\(error)").contains(
        "- loss of the worker during batch 1: it came out as [0, 1, 1], undisturbed as [0, 1]")
    }
  }

  @Test("one that fails when it resumes is caught")
  func failsOnResumption() async {
    let text = await complaint { notes in
      { task in
        if task.launch > 1 { throw Trouble() }
        try await pages(5, notes)(task)
      }
    }
    #expect(
      first(text)
        == "- expiry 'draining' after 0 batches: the request of com.example.import failed: trouble; 2 launches, the last "
        + "one 'failed: trouble'")
  }

  @Test("batches are interrupted at the points in them as well")
  func points() async {
    let text = await complaint { notes in
      pages(3, notes) { page, _ in
        interruptionPoint()
        let isEarly = Task.isCancelled
        interruptionPoint()
        if page == 1, !isEarly, Task.isCancelled { notes.append(99) }
      }
    }
    #expect(text?.hasPrefix("com.example.import does not survive 1 of ") == true)
    #expect(first(text)?.hasPrefix("- expiry 'draining' during batch 1, at point 2: it came out as [") == true)
  }

  @Test("what a budget divides is interrupted in every part")
  func divided() async throws {
    try await TestRequest("com.example.import", budget: .seconds(2), batchDuration: .seconds(1))
      .checkEveryInterruption { request in
        let notes = Notes()
        try await request.complete(pages(5, notes))
        #expect(request.launches.count >= 3)
        return Set(notes.all)
      }
  }

  @Test("sleeps of the handler take no time of the test")
  func sleeps() async throws {
    try await TestRequest("com.example.import").checkEveryInterruption { request in
      try await request.complete(pages(3) { _, _ in try await request.clock.sleep(for: .seconds(3)) })
    }
  }

  @Test("one that saves where it stopped passes")
  func savesAtTheEnd() async throws {
    try await TestRequest("com.example.import").checkEveryInterruption { request in
      let notes = Notes()
      try await request.complete { task in
        do {
          try await pages(5, notes)(task)
        } catch is CancellationError {
          try await task.checkpoint(task.lastCheckpoint(as: Position.self) ?? Position(page: 0))
          throw CancellationError()
        }
      }
      return Set(notes.all)
    }
  }

  @Test("a body that never completes its request is told so")
  func incomplete() async {
    await #expect {
      try await TestRequest("com.example.import").checkEveryInterruption { _ in }
    } throws: { "\($0)".contains("has not ended; call 'complete'") }
  }

  @Test("too much work is refused rather than run for hours")
  func tooMuch() async {
    await #expect {
      try await TestRequest("com.example.import").checkEveryInterruption { try await $0.complete(pages(201)) }
    } throws: { "\($0)".contains("commits 201 batches: give the check less work, 200 batches at most") }
    await #expect(throws: Never.self) {
      try await TestRequest("com.example.import").checkEveryInterruption { try await $0.complete(pages(200)) }
    }
  }

  @MainActor @Test("the body may be an actor's own")
  func isolated() async throws {
    var runs = 0
    try await TestRequest("com.example.import").checkEveryInterruption { request in
      runs += 1
      try await request.complete(pages(1))
    }
    #expect(runs == 10)
  }
}
