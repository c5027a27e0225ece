import BatonBase
import BatonModel
import BatonStore
import Crypto
import Synchronization

/// Submissions that launches make. They reach the coordinator as messages of the worker, so they need no credential:
/// the worker has proven its name, and the store says whether the launch is live on it.
extension Coordinator {
  /// Submits what the launches wish, each in the name of the principal who submitted the request of the launch.
  /// - Throws: `StoreError` if the store does not take them, or this coordinator is shutting down. The worker then
  ///   repeats them.
  func submit(_ asked: [SubmittingLaunch], of process: WorkerProcess, for id: SessionID) async throws -> StoreNews {
    guard state.withLock({ $0.isAccepting }) else {
      throw StoreError(.unavailable, "the coordinator is shutting down")
    }
    var answers: [AnsweredLaunch] = []
    var submissions: [(index: Int, Submission)] = []
    for one in asked {
      guard let submitter = try await store.submitter(one.launch, for: process) else {
        answers.append(AnsweredLaunch(one, nil))
        continue
      }
      let refusal = one.refusal(for: submitter)
      if refusal == nil {
        let name = one.id { Array(SHA256.hash(data: $0)) }
        submissions.append(
          (answers.count, one.submission(by: submitter, id: name) { .new(under: $0, settings.sampler) }))
      }
      answers.append(AnsweredLaunch(one, refusal))
    }
    if !submissions.isEmpty {
      let results = try await submit(submissions.map(\.1))
      for (submission, result) in zip(submissions, results) {
        answers[submission.index].answer = LaunchSubmissionAnswer(result)
      }
    }
    return .submitted(id, answers, of: process.host)
  }
}
