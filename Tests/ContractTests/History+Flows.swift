import BatonModel
import BatonStore

/// What the contract says of jobs that start after others, in a few lines.
extension History {
  /// That a request waits for another one of its flow.
  struct Wait: Hashable {
    var name: JobIdentifier
    var number: Int
    var end: Dependency.End
    var state = AwaitedRequest.State.open
  }

  /// The members of the flow to which requests of this name can belong, each after those that it waits for; none if
  /// its definition is in no flow.
  func flow(of name: JobIdentifier) -> [JobIdentifier] {
    let prefix = "test.flow."
    guard name.rawValue.hasPrefix(prefix) else { return [] }
    return ["fetch", "left", "mend", "report"].compactMap { member in
      guard let instance = name.rawValue.split(separator: ".").last else { return nil }
      return JobIdentifier("\(prefix)\(member).\(instance)")
    }
  }

  // MARK: Steps

  /// Submits all jobs of the flow, or only the first of them and one that comes after it, in any order.
  mutating func submitFlow(_ all: [JobIdentifier]) throws {
    var members = draw.one(of: [all, [all[0], all[1]], [all[0], all[2]]])
    if draw.number(0...1) == 0 { members.reverse() }
    touched.formUnion(members)
    let offers = try members.map { member in
      guard let job = jobs[member] else { throw violation(member, "it is in no flow") }
      return SubmissionOffer(submission: submission(of: member), definition: job.id)
    }
    let answers = try fleet.submitFlow(offers)
    for member in all where members.contains(member) {
      guard var model = models[member] else { continue }
      if model.waiting == nil { model.lastNumber += 1 }
      model.waiting = Model.Request(
        number: model.waiting?.number ?? model.lastNumber, submittedSteady: fleet.now.steady, waits: waits(of: member))
      models[member] = model
    }
    for (member, answer) in zip(members, answers) {
      guard case .accepted(let receipt, _, _, _) = answer else { throw violation(member, "refused: \(answer)") }
      try expect(receipt.number == models[member]?.waiting?.number, member, "the number of the member")
    }
  }

  /// What a new member waits for. The requests that it waits for are in the model already.
  private func waits(of member: JobIdentifier) -> [Wait] {
    (jobs[member]?.definition.after ?? []).compactMap { dependency in
      guard let definition = jobs[member]?.definition,
        let name = dependency.identifier.identifier(for: member, of: definition.pattern),
        let number = models[name]?.waiting?.number
      else { return nil }
      return Wait(name: name, number: number, end: dependency.on)
    }
  }

  // MARK: Events

  /// Tells the requests that wait for this one that it has ended. Those that cannot start any more are cancelled.
  mutating func passOn(_ state: RequestState, of name: JobIdentifier, _ number: Int) {
    for member in flow(of: name) {
      guard var waiting = models[member]?.waiting else { continue }
      var isCancelled = false
      for index in waiting.waits.indices {
        let wait = waiting.waits[index]
        guard (wait.name, wait.number, wait.state) == (name, number, .open) else { continue }
        waiting.waits[index].state = wait.end.isMet(by: state) ? .met : .broken
        if waiting.waits[index].state == .broken { isCancelled = true }
      }
      guard waiting.waits != models[member]?.waiting?.waits else { continue }
      touched.insert(member)
      models[member]?.waiting = isCancelled ? nil : waiting
      if isCancelled {
        flowCancellations += 1
        passOn(.cancelled, of: member, waiting.number)
      }
    }
  }

  // MARK: Checks

  func checkWaits(of waiting: RequestRecord, _ wanted: Model.Request, _ name: JobIdentifier) throws {
    let found = try fleet.awaited(by: waiting.id).map { awaited in
      Wait(name: awaited.identifier, number: awaited.number, end: awaited.end, state: awaited.state)
    }
    try expect(Set(found) == Set(wanted.waits), name, "it waits for \(found)")
    guard wanted.waits.contains(where: { $0.state == .open }) else { return }
    try expect(waiting.state == .scheduled, name, "it waits for others and is \(waiting.state)")
  }
}
