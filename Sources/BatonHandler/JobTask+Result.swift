public import BatonModel
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension JobTask {
  /// Gives the result of the request: a small value for the jobs of its flow that come after it.
  ///
  /// ```swift
  /// worker.register("com.example.import") { task in
  ///   for try await batch in task.batches(of: files, size: 10) { try await load(batch) }
  ///   try task.setResult(Imported(files: files.count, folder: "/data/import"))
  /// }
  /// worker.register("com.example.report") { task in
  ///   let imported = try task.inputs.first?.result(as: Imported.self)
  ///   // …
  /// }
  /// ```
  ///
  /// The sample is from `Examples/Worker/Samples.swift`. The method returns at once. The result is saved with the next
  /// checkpoint, or when the handler returns, and not if the handler throws before. The last result that was saved
  /// counts, whichever launch of the request has given it: it is kept with the checkpoint of its batch, so a launch
  /// that goes on after that checkpoint need not give it again. It is the result of the request once the request has
  /// succeeded; `baton show` has it too. In a divided request each shard gives its own.
  ///
  /// Keep data in files, and give their paths. Do not put secrets into a result: it is stored and shown.
  ///
  /// - Parameter value: is encoded as JSON of at most 64 KiB.
  /// - Throws: `HandlerError` with the code `.badResult` if the JSON has more than 64 KiB; nothing has changed then.
  ///   `EncodingError` if the value cannot be encoded.
  public func setResult(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    try setResult(json: Array(encoder.encode(value)))
  }

  /// Gives the result of the request as JSON, in the same way.
  /// - Parameter json: one value of JSON in UTF-8, of at most 64 KiB. Those who wait for the request get these bytes.
  /// - Throws: `HandlerError` with the code `.badResult` if it is no JSON, or has more than 64 KiB.
  public func setResult(json: [UInt8]) throws(HandlerError) {
    do throws(JobResultProblem) {
      given.set(try JobResult(json))
    } catch {
      throw HandlerError(.badResult, "request \(request) of \(identifier) gave \(error)")
    }
  }

  /// How the requests that this one waited for have ended, in the order of `after` in the definition; empty if it
  /// waited for none. A request that is not kept any more is left out: one that ended long before this launch, which is
  /// a retry.
  public var inputs: [JobInput] { assignedInputs.map(JobInput.init) }
}

/// How a request has ended that another one waited for, with what it gave.
public struct JobInput: Hashable, Sendable {
  /// How a request ends.
  public enum End: String, Hashable, Sendable { case succeeded, failed, cancelled }

  /// The identifier of the request that has ended.
  public let identifier: JobIdentifier
  /// Its number, which counts from 1 within its identifier.
  public let request: Int
  /// How it ended. Only one that has succeeded has a result.
  public let end: End
  /// The JSON that the request gave as its result; `nil` if it gave none, if it did not succeed, or if it was divided.
  public let resultBytes: [UInt8]?
  /// The JSON that the shards of a divided request gave, by the numbers of the shards. A shard that gave none has no
  /// entry.
  public let shardResults: [Int: [UInt8]]
  /// Whether results are left out. A launch gets at most 1 MiB of results. They are given in the order of the inputs
  /// and shards; the first one that does not fit and all later ones are left out.
  public let isCut: Bool

  /// Decodes the result from JSON.
  /// - Returns: `nil` if there is no result.
  /// - Throws: `DecodingError` if the result does not fit the type.
  public func result<Value: Decodable>(as type: Value.Type) throws -> Value? {
    try resultBytes.map { try JSONDecoder().decode(type, from: Data($0)) }
  }

  /// Decodes the results of the shards from JSON, in the order of their numbers.
  /// - Throws: `DecodingError` if a result does not fit the type.
  public func shardResults<Value: Decodable>(as type: Value.Type) throws -> [(shard: Int, result: Value)] {
    try shardResults.sorted { $0.key < $1.key }.map { shard, bytes in
      (shard, try JSONDecoder().decode(type, from: Data(bytes)))
    }
  }

  /// Makes an input, for a test of code that takes one.
  /// - Precondition: `request` is at least 1.
  public init(
    identifier: JobIdentifier, request: Int = 1, end: End = .succeeded, resultBytes: [UInt8]? = nil,
    shardResults: [Int: [UInt8]] = [:], isCut: Bool = false
  ) {
    precondition(request >= 1, "requests count from 1")
    (self.identifier, self.request, self.end) = (identifier, request, end)
    (self.resultBytes, self.shardResults, self.isCut) = (resultBytes, shardResults, isCut)
  }

  init(_ input: RequestInput) {
    let end: End =
      switch input.state {
      case .succeeded: .succeeded
      case .cancelled: .cancelled
      case .failed, .scheduled, .ready, .running: .failed
      }
    self.init(
      identifier: input.identifier, request: max(1, input.number), end: end, resultBytes: input.result?.json,
      shardResults: Dictionary(input.shards.map { ($0.shard, $0.result.json) }) { $1 }, isCut: input.isCut)
  }
}

/// The result that a handler has given, until it is saved.
final class GivenResult: Sendable {
  private let waiting = Mutex<JobResult?>(nil)

  var result: JobResult? { waiting.withLock { $0 } }

  func set(_ result: JobResult) { waiting.withLock { $0 = result } }

  /// Forgets a result that is saved, unless another one was given meanwhile.
  func remove(_ saved: JobResult) { waiting.withLock { if $0 == saved { $0 = nil } } }
}
