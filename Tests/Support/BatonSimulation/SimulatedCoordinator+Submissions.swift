import BatonCoordinator
import BatonModel
import BatonStore

/// Submissions that launches make. It does what `Coordinator+LaunchSubmissions` does in the daemon.
extension SimulatedCoordinator {
  func submit(
    _ asked: [SubmittingLaunch], of process: WorkerProcess, for id: SessionID, as order: StoreOrder,
    then done: @escaping () throws -> Void
  ) throws {
    writer.read(as: world.store) { verbs in
      try asked.map { try verbs.submitter($0.launch, for: process) }
    } then: { [self] result in
      switch result {
      case .success(let submitters): try submit(Array(zip(asked, submitters)), of: process, for: id, as: order, done)
      case .failure(let error):
        try failed(order, error)
        try done()
      }
    }
  }

  private func submit(
    _ asked: [(SubmittingLaunch, Submitter?)], of process: WorkerProcess, for id: SessionID, as order: StoreOrder,
    _ done: @escaping () throws -> Void
  ) throws {
    let (now, time) = (now().moment, time())
    let submissions = asked.compactMap { one, submitter in
      submitter.map { submitter in
        one.submission(by: submitter, id: one.id { Array($0.prefix(16)) }) { parent in
          TraceContext(traceID: parent.traceID, spanID: world.drawSpanID(), isSampled: parent.isSampled)
        }
      }
    }
    let plans = try tell { $0.plan(submissions, at: now, world.drawSpanID) }
    let offers = plans.compactMap(\.offer)
    guard offers.count == submissions.count else {
      throw world.journal.violation(.crash, "the submission of a link was refused before the store was asked")
    }
    let answered = { (answers: [SubmissionAnswer]) in
      var rest = answers[...]
      return asked.map { one, submitter in
        AnsweredLaunch(one, submitter == nil ? nil : LaunchSubmissionAnswer(rest.removeFirst()))
      }
    }
    writer.write(.submission) {
      try $0.submit(offers, at: now)
    } committed: { [world, machine] answers in
      for (one, answer) in zip(asked.filter { $0.1 != nil }, answers) {
        guard case .accepted(let receipt, _, _, let isRepeat) = answer else { continue }
        try world.journal.linked(
          receipt.number, after: one.0.launch, isRepeat: isRepeat, isChecked: world.aftermath == nil)
      }
      for (answer, offer) in zip(answers, offers) {
        guard case .accepted(_, _, let launch?, _) = answer, let place = offer.host else { continue }
        try world.started(launch, under: place.lease, by: machine, at: time)
      }
    } then: { [self] result in
      switch result {
      case .success(let answers):
        try tell { $0.submitted(plans, answers) }
        try tell { $0.stored(.submitted(id, answered(answers), of: process.host), at: self.now()) }
      case .failure(let error):
        try tell { $0.notSubmitted(plans) }
        try failed(order, error)
      }
      try done()
    }
  }
}
