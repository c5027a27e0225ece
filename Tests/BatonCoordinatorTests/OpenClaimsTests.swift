import BatonModel
import Testing

@testable import BatonCoordinator

/// Expiries of launches that the store may know and the dispatcher does not know yet.
@Suite struct OpenClaimsTests {
  private let launch = key(1)

  @Test func `an expiry is kept while a claim is open that may have started the launch`() {
    var claims = OpenClaims()
    let (first, second) = (claims.open(), claims.open())
    claims.note(.paused, of: launch)
    claims.close(second)
    #expect(claims.expiry(of: launch) == .paused, "the first claim may still bring the launch")
    claims.close(first)
    #expect(claims.expiry(of: launch) == nil)
  }

  @Test func `claims that are opened after the expiry do not keep it`() {
    var claims = OpenClaims()
    let before = claims.open()
    claims.note(.paused, of: launch)
    let after = claims.open()
    claims.close(before)
    #expect(claims.expiry(of: launch) == nil, "the launch was stored before the later claim was made")
    claims.close(after)
  }

  @Test func `without an open claim there is nothing to keep`() {
    var claims = OpenClaims()
    claims.note(.paused, of: launch)
    #expect(claims.expiry(of: launch) == nil)
    let number = claims.open()
    #expect(claims.expiry(of: launch) == nil)
    claims.close(number)
  }

  @Test func `the first reason stays`() {
    var claims = OpenClaims()
    _ = claims.open()
    claims.note(.paused, of: launch)
    claims.note(.evicted, of: launch)
    #expect(claims.expiry(of: launch) == .paused)
  }
}
