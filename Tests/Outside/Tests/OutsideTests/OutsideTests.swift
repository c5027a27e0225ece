import BatonTestKit
import Testing

@testable import outside

@Test func countsWhereverItIsInterrupted() async throws {
  try await TestRequest("com.example.count").checkEveryInterruption { request in
    try await request.complete(count)
    return request.checkpoints.last?.completedUnits
  }
}
